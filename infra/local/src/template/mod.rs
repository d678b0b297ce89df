//! A SAM template: one table, the function on its stream, and the event source mapping between them.
//!
//! The template is the only place of these settings, so a setting that changes there changes on this machine too.
//! Parameters have their defaults or the values that are passed. Conditions, `!If`, `!Sub` and `!Join` of parameters
//! are computed.

mod document;
mod event_source;
mod resolve;
mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

pub use self::document::TemplateError;
pub use self::event_source::{EventSource, StartingPosition};
pub use self::table::{KeyAttribute, TableDefinition};

use self::document::{Property, intrinsic};
use self::resolve::Scope;

const PARALLELIZATION_FACTOR: &str = "ParallelizationFactor";

/// Lambda's timeout for functions without one in the template, in seconds.
const TIMEOUT_SECONDS_DEFAULT: i64 = 3;
/// Lambda's longest timeout, in seconds.
const TIMEOUT_SECONDS_MAX: i64 = 900;

/// A template, with its parameters resolved.
#[derive(Debug, Clone)]
pub struct Template {
    /// The table whose stream is the event source.
    pub table: TableDefinition,
    table_id: String,
    /// The settings of the event source mapping, as they are deployed.
    pub event_source: EventSource,
    /// True if [`Template::set_mapping`] has set the parallelization factor.
    has_own_factor: bool,
    /// The timeout of the function on the stream.
    pub timeout: Duration,
    /// The function that the event source invokes.
    function_id: String,
    /// The environment of each function, by the function's logical id.
    environments: BTreeMap<String, BTreeMap<String, Value>>,
}

impl Template {
    /// Reads a template with the default of every parameter.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Self::parse_with(text, &BTreeMap::new())
    }

    /// Reads a template with values for some of its parameters.
    pub fn parse_with(text: &str, parameters: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let document = document::parse(text)?;
        let document = Scope::of(&document, parameters)?.value(&document).unwrap_or_default();
        let root = Property { path: String::new(), value: &document };
        let properties = |id: &str| {
            let found = root.get("Resources").and_then(|all| all.get(id)).and_then(|one| one.get("Properties"));
            found.ok_or_else(|| TemplateError::Missing { property: format!("Resources.{id}.Properties") })
        };
        let globals = root.get("Globals").and_then(|globals| globals.get("Function"));

        let mapping = match &of_type(&document, "AWS::Lambda::EventSourceMapping")[..] {
            [only] => properties(only)?,
            found => return Err(TemplateError::EventSourceMappings { found: found.len() }),
        };
        let function_id = function_of(&mapping.require("FunctionName")?)?;
        let table_id = table_of(&mapping.require("EventSourceArn")?)?;
        let own = properties(&function_id)?.get("Timeout");
        let timeout = match own.or_else(|| globals.as_ref()?.get("Timeout")) {
            Some(timeout) => timeout.integer(1, TIMEOUT_SECONDS_MAX)?,
            None => TIMEOUT_SECONDS_DEFAULT,
        };
        let mut environments = BTreeMap::new();
        for id in of_type(&document, "AWS::Serverless::Function") {
            let mut environment = BTreeMap::new();
            for of in globals.iter().chain([&properties(&id)?]) {
                if let Some(variables) = of.get("Environment").and_then(|environment| environment.get("Variables")) {
                    let variables = variables.entries()?.into_iter();
                    environment.extend(variables.map(|(name, property)| (name.clone(), property.value.clone())));
                }
            }
            environments.insert(id, environment);
        }
        Ok(Template {
            table: TableDefinition::of(&properties(&table_id)?)?,
            table_id,
            event_source: EventSource::of(&mapping)?,
            has_own_factor: false,
            timeout: Duration::from_secs(timeout.unsigned_abs()),
            function_id,
            environments,
        })
    }

    /// Changes a setting of the event source mapping, as `aws lambda update-event-source-mapping` does.
    pub fn set_mapping(&mut self, name: &str, value: &str) -> Result<(), TemplateError> {
        self.event_source.set(name, &Property { path: name.to_owned(), value: &Value::from(value) })?;
        self.has_own_factor |= name == PARALLELIZATION_FACTOR;
        Ok(())
    }

    /// Returns the event source mapping's settings on one machine. The parallelization factor is 1 unless
    /// [`Template::set_mapping`] has set it: batches at once would find each other's work half done.
    pub fn local_event_source(&self) -> EventSource {
        let deployed = self.event_source.clone();
        let parallelization_factor = if self.has_own_factor { deployed.parallelization_factor } else { 1 };
        EventSource { parallelization_factor, ..deployed }
    }

    /// Returns the environment of the function on the stream. References to the table become `table_name`.
    pub fn environment(&self, table_name: &str) -> Result<BTreeMap<String, String>, TemplateError> {
        self.environment_of(&self.function_id, table_name, &BTreeMap::new())
    }

    /// Returns the environment of a function, with this table. `given` has the values that only a stack has.
    pub fn environment_of(
        &self,
        function: &str,
        table_name: &str,
        given: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, TemplateError> {
        let path = format!("Resources.{function}.Properties.Environment.Variables");
        let Some(variables) = self.environments.get(function) else {
            return Err(TemplateError::Missing { property: path });
        };
        let table = json!({ "Ref": self.table_id });
        let table_name = Value::from(table_name);
        let mut environment = BTreeMap::new();
        for (name, value) in variables {
            let text = match given.get(name) {
                Some(given) => given.clone(),
                None => {
                    let value = if *value == table { &table_name } else { value };
                    Property { path: format!("{path}.{name}"), value }.text()?
                }
            };
            environment.insert(name.clone(), text);
        }
        Ok(environment)
    }
}

fn of_type(document: &Value, wanted: &str) -> Vec<String> {
    let resources = document.get("Resources").and_then(Value::as_object).into_iter().flatten();
    let is_wanted = |resource: &Value| resource.get("Type").and_then(Value::as_str) == Some(wanted);
    resources.filter(|(_, resource)| is_wanted(resource)).map(|(id, _)| id.clone()).collect()
}

/// Returns the logical id of a function that a property refers to, directly or by SAM's alias of it.
fn function_of(name: &Property<'_>) -> Result<String, TemplateError> {
    match intrinsic(name.value) {
        Some(("Ref", Value::String(function))) => Ok(function.trim_end_matches(".Alias").to_owned()),
        Some(("Fn::GetAtt", Value::Array(parts))) if parts.len() == 2 && parts[1] == "Arn" => {
            Property { path: name.path.clone(), value: &parts[0] }.text()
        }
        _ => Err(name.must_be("!Ref or !GetAtt of a function")),
    }
}

fn table_of(stream: &Property<'_>) -> Result<String, TemplateError> {
    if let Some(("Fn::GetAtt", Value::Array(parts))) = intrinsic(stream.value)
        && let [Value::String(table), Value::String(attribute)] = parts.as_slice()
        && attribute == "StreamArn"
    {
        return Ok(table.clone());
    }
    Err(stream.must_be("!GetAtt of a table's StreamArn"))
}
