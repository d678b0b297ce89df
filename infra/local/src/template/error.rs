use super::document::Path;

/// Why a template can't be followed on one machine. Every variant names the property it is about.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The text is no YAML.
    #[error("the template is no YAML that can be read: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
    /// A property that must be there isn't.
    #[error("{property} is missing")]
    Missing {
        /// The property, from the document's root, its parts separated by dots.
        property: String,
    },
    /// A property has a value of another type, or one out of range.
    #[error("{property} must be {expected}, it is {found}")]
    Wrong {
        /// The property.
        property: String,
        /// What it must be.
        expected: String,
        /// What it is, as JSON.
        found: String,
    },
    /// A property refers to something that only a deployed stack has.
    #[error("{property} refers to {reference}, which has no value on one machine")]
    Unresolved {
        /// The property.
        property: String,
        /// The intrinsic function, as JSON.
        reference: String,
    },
    /// A property asks for something that isn't done here.
    #[error("{property} is {value}, which isn't supported here ({supported})")]
    Unsupported {
        /// The property.
        property: String,
        /// Its value, as JSON.
        value: String,
        /// What is.
        supported: &'static str,
    },
    /// A value was given for a parameter that the template doesn't have.
    #[error("the template has no parameter {name}")]
    UnknownParameter {
        /// The name given.
        name: String,
    },
    /// There must be one event source mapping.
    #[error("the template has {found} resources of type AWS::Lambda::EventSourceMapping, exactly one is expected")]
    EventSourceMappings {
        /// How many there are.
        found: usize,
    },
}

impl TemplateError {
    pub(super) fn missing(path: &Path) -> Self {
        TemplateError::Missing { property: path.to_string() }
    }

    pub(super) fn wrong(path: &Path, expected: impl Into<String>, found: &serde_json::Value) -> Self {
        TemplateError::Wrong { property: path.to_string(), expected: expected.into(), found: found.to_string() }
    }
}
