//! Errors of templates.

use super::document::Path;

/// Why a template can't run on one machine. Every variant names its property.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The text isn't YAML.
    #[error("the template can't be read as YAML: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
    /// A required property is missing.
    #[error("{property} is missing")]
    Missing {
        /// The property's path from the document's root, its parts separated by dots.
        property: String,
    },
    /// A property has a value of a wrong type or out of range.
    #[error("{property} must be {expected}, it is {found}")]
    Wrong {
        /// The property.
        property: String,
        /// The expected value.
        expected: String,
        /// The property's value, as JSON.
        found: String,
    },
    /// A property refers to a value that only a deployed stack has.
    #[error("{property} refers to {reference}, which has no value on one machine")]
    Unresolved {
        /// The property.
        property: String,
        /// The intrinsic function, as JSON.
        reference: String,
    },
    /// A property has a value that isn't supported here.
    #[error("{property} is {value}, which isn't supported here ({supported})")]
    Unsupported {
        /// The property.
        property: String,
        /// The property's value, as JSON.
        value: String,
        /// The supported values.
        supported: &'static str,
    },
    /// The template doesn't have the parameter that a value was given for.
    #[error("the template has no parameter {name}")]
    UnknownParameter {
        /// The parameter's name.
        name: String,
    },
    /// The template doesn't have exactly one event source mapping.
    #[error("the template has {found} resources of type AWS::Lambda::EventSourceMapping, exactly one is expected")]
    EventSourceMappings {
        /// The number of event source mappings.
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
