//! Templates: the project's own, and small ones.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::endpoint::{Endpoint, TableStream};
use crate::filter::Filter;
use crate::mapping::Settings;
use crate::template::{StartingPosition, Template, TemplateError};
use serde_json::json;

const OWN: &str = include_str!("../../../../template.yaml");

const SMALL: &str = r"
Parameters:
  Factor: {Type: Number, Default: 2}
  Size: {Type: String}
  Ttl: {Type: String, Default: ''}
  Names: {Type: CommaDelimitedList, Default: 'a, b'}
Conditions:
  HasTtl: !Not [!Equals [!Ref Ttl, '']]
  HasFewNames: !And [!Condition HasTtl, !Equals [x, y]]
Globals:
  Function:
    Timeout: 7
    Environment: {Variables: {LEVEL: info, WHO: nobody}}
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: range, AttributeType: N}, {AttributeName: hash, AttributeType: S}]
      KeySchema: [{AttributeName: range, KeyType: RANGE}, {AttributeName: hash, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: !If [HasTtl, {AttributeName: !Ref Ttl, Enabled: true}, !Ref AWS::NoValue]
  Other:
    Type: AWS::Serverless::Function
    Properties: {Runtime: provided.al2023}
  Follower:
    Type: AWS::Serverless::Function
    Properties:
      Environment:
        Variables:
          TABLE: !Ref Things
          WHO: !Sub 'follower of ${Ttl}, ${!not}'
          NAMES: !Join [';', !Ref Names]
          WHICH: !If [HasFewNames, few, many]
  Changes:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: !Ref Follower
      EventSourceArn: !GetAtt Things.StreamArn
      StartingPosition: LATEST
      BatchSize: !Ref Size
      ParallelizationFactor: !Ref Factor
";

fn small(parameters: &[(&str, &str)]) -> Result<Template, TemplateError> {
    let given: BTreeMap<String, String> =
        parameters.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Template::parse_with(SMALL, &given)
}

fn own_filter() -> Filter {
    Filter::new(&Template::parse(OWN).unwrap().event_source.filter_patterns).unwrap()
}

fn record_of(sort_key: &str) -> serde_json::Value {
    json!({"eventName": "INSERT", "dynamodb": {"Keys": {"PK": {"S": "V"}, "SK": {"S": sort_key}}}})
}

#[test]
fn the_projects_template_has_its_table() {
    let template = Template::parse(OWN).unwrap();
    let key: Vec<String> = template.table.key.iter().map(|k| format!("{} {} {}", k.name, k.role, k.kind)).collect();
    assert_eq!(key, ["PK HASH S", "SK RANGE S"]);
    assert_eq!(template.table.stream_view_type.as_deref(), Some("NEW_AND_OLD_IMAGES"));
}

#[test]
fn the_projects_template_has_its_event_source() {
    let template = Template::parse(OWN).unwrap();
    let source = &template.event_source;
    assert_eq!(source.filter_patterns.len(), 1);
    assert!(source.reports_batch_item_failures && source.bisects_on_error && source.has_failure_destination);
    assert_eq!(source.retries_max, None);
    assert_eq!(source.record_age_max, Some(Duration::from_secs(21_600)));
    assert_eq!(source.starting_position, StartingPosition::TrimHorizon);
    assert!(template.timeout >= Duration::from_secs(10));
}

#[test]
fn the_projects_template_has_its_environment() {
    let given = [("PathRows", "off"), ("NeverCopied", "expires,GSI1PK")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut environment = Template::parse_with(OWN, &BTreeMap::from(given)).unwrap().environment("things").unwrap();
    // A hash, which tests/rehearsal/versions.py compares.
    assert!(environment.remove("FUNCTION_PROPERTIES").is_some());
    let expected = [
        ("COPIED_ATTRIBUTES", "all"),
        ("LINK_ATTRIBUTES", ""),
        ("METRICS_NAMESPACE", "Sapwood"),
        ("NEVER_COPIED", "expires,GSI1PK"),
        ("NODE_SORT_KEY", "NODE"),
        ("ORDER_ATTRIBUTE", ""),
        ("ORDER_BY_HAND", "off"),
        ("PARENT_ATTRIBUTE", "parent"),
        ("PARTITION_KEY", "PK"),
        ("PATH_ROWS", "off"),
        ("ROOT_ROWS", "on"),
        ("SEGMENT_ATTRIBUTE", "segment"),
        ("SORT_KEY", "SK"),
        ("TABLE_NAME", "things"),
        ("TENANTS", "off"),
        ("TOTALS", ""),
        ("CHANGES", "off"),
        ("TTL_ATTRIBUTE", "_expires"),
        ("UNIQUE_NAMES", "off"),
    ];
    assert_eq!(environment, BTreeMap::from(expected.map(|(name, value)| (name.to_owned(), value.to_owned()))));
}

#[test]
fn the_projects_auditor_has_its_mode_and_its_bounds() {
    let audit = |mode: Option<&str>| {
        let given = mode.map(|mode| ("Audit".to_owned(), mode.to_owned())).into_iter().collect();
        let template = Template::parse_with(OWN, &given).unwrap();
        let environment = template.environment_of("Auditor", "things", &BTreeMap::new()).unwrap();
        ["AUDIT", "AUDIT_READ_UNITS", "AUDIT_PASS_HOURS", "TABLE_NAME"].map(|name| environment[name].clone())
    };
    assert_eq!(audit(None), ["repair", "10000", "24", "things"]);
    assert_eq!(audit(Some("report"))[0], "report");
}

#[test]
fn the_projects_filter_lets_base_records_lineages_and_cursors_pass() {
    let filter = own_filter();
    let passing = [
        "NODE",
        "LINEAGE",
        "CASCADE",
        "v001_Audit",
        "v099_Audit#wheel-2",
        "v100_x",
        "v999_x",
        "va1000_x",
        "va9999_x",
        "vb10000_x",
        "vc999999_x",
    ];
    for sort_key in passing {
        assert!(filter.passes(&record_of(sort_key)), "{sort_key}");
    }
}

#[test]
fn the_projects_filter_keeps_derived_rows_and_strangers_out() {
    let filter = own_filter();
    let kept_out = [
        "NODE#0001#x",
        "NODES",
        "PATH#NE#OMAHA",
        "ROOT#x",
        "v0_Audit",
        "v0_001",
        "vacation",
        "va0_x",
        "vb",
        "v",
        "LINEAGES",
        "CASCADE#",
        "OPERATION#x",
        "DELETED",
        "IDEMPOTENCY#0000",
        "ORPHAN#x",
        "node",
        "V001_x",
        "vd100000_x",
        "",
    ];
    for sort_key in kept_out {
        assert!(!filter.passes(&record_of(sort_key)), "{sort_key}");
    }
}

#[test]
fn what_the_template_leaves_out_has_awss_defaults() {
    let template = small(&[("Size", "10")]).unwrap();
    let source = &template.event_source;
    assert_eq!((source.batch_size_max, source.parallelization_factor), (10, 2));
    assert_eq!((source.batching_window, source.retries_max, source.record_age_max), (Duration::ZERO, None, None));
    assert!(!source.bisects_on_error && !source.reports_batch_item_failures && !source.has_failure_destination);
    assert_eq!(source.starting_position, StartingPosition::Latest);
    assert_eq!(template.timeout, Duration::from_secs(7));
    assert_eq!(template.table.key[0].name, "hash");
    assert_eq!(template.table.ttl_attribute, None);
}

#[test]
fn conditions_and_functions_of_parameters_are_computed() {
    let template = small(&[("Size", "10"), ("Ttl", "expires")]).unwrap();
    assert_eq!(template.table.ttl_attribute.as_deref(), Some("expires"));
    let environment = template.environment("t").unwrap();
    let expected = [
        ("LEVEL", "info"),
        ("NAMES", "a;b"),
        ("TABLE", "t"),
        ("WHICH", "many"),
        ("WHO", "follower of expires, ${not}"),
    ];
    assert_eq!(environment, BTreeMap::from(expected.map(|(name, value)| (name.to_owned(), value.to_owned()))));
}

#[test]
fn an_error_names_the_property() {
    let property = "Resources.Changes.Properties.";
    match small(&[]) {
        Err(TemplateError::Unresolved { property: named, reference }) => {
            assert_eq!(named, format!("{property}BatchSize"));
            assert_eq!(reference, r#"{"Ref":"Size"}"#);
        }
        other => panic!("{other:?}"),
    }
    match small(&[("Size", "many")]) {
        Err(TemplateError::Wrong { property: named, found, .. }) => {
            assert_eq!((named, found.as_str()), (format!("{property}BatchSize"), "\"many\""));
        }
        other => panic!("{other:?}"),
    }
    match small(&[("Size", "1"), ("Factor", "11")]) {
        Err(TemplateError::Wrong { property: named, .. }) => {
            assert_eq!(named, format!("{property}ParallelizationFactor"))
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(small(&[("Sise", "1")]), Err(TemplateError::UnknownParameter { name }) if name == "Sise"));
}

#[test]
fn a_setting_of_the_mapping_can_be_changed() {
    let mut template = small(&[("Size", "1")]).unwrap();
    let settings = [
        ("BatchSize", "1000"),
        ("MaximumBatchingWindowInSeconds", "300"),
        ("ParallelizationFactor", "10"),
        ("MaximumRetryAttempts", "7"),
        ("MaximumRecordAgeInSeconds", "60"),
        ("BisectBatchOnFunctionError", "true"),
    ];
    for (name, value) in settings {
        template.set_mapping(name, value).unwrap();
    }
    let changed = template.event_source.clone();
    assert_eq!((changed.batch_size_max, changed.parallelization_factor), (1000, 10));
    assert_eq!(changed.batching_window, Duration::from_secs(300));
    assert_eq!((changed.retries_max, changed.record_age_max), (Some(7), Some(Duration::from_secs(60))));
    assert!(changed.bisects_on_error);
    for (name, value) in [("BatchSize", "0"), ("MaximumRecordAgeInSeconds", "59"), ("ParallelizationFactor", "11")] {
        let refused = template.set_mapping(name, value);
        assert!(matches!(refused, Err(TemplateError::Wrong { property, .. }) if property == name), "{name}");
    }
    let refused = template.set_mapping("StartingPosition", "LATEST");
    assert!(matches!(refused, Err(TemplateError::Unsupported { property, .. }) if property == "StartingPosition"));
    assert_eq!(template.event_source, changed, "what is refused changes nothing");
}

#[test]
fn one_batch_runs_at_a_time_here_unless_more_are_asked_for() {
    let mut template = small(&[("Size", "1"), ("Factor", "4")]).unwrap();
    template.set_mapping("BatchSize", "7").unwrap();
    let (deployed, here) = (template.event_source.clone(), template.local_event_source());
    assert_eq!((deployed.parallelization_factor, here.parallelization_factor), (4, 1));
    assert_eq!(here.batch_size_max, 7);
    let settings = |template: &Template| {
        let stream = TableStream { table_name: "things".to_owned(), arn: "arn".to_owned() };
        Settings::new(&Endpoint::new("http://127.0.0.1:1"), &stream, template).source
    };
    assert_eq!(settings(&template), here);
    // Also the factor that the template has anyway can be asked for.
    for factor in ["4", "1", "10"] {
        template.set_mapping("ParallelizationFactor", factor).unwrap();
        assert_eq!(settings(&template).parallelization_factor.to_string(), factor);
    }
    assert!(template.set_mapping("ParallelizationFactor", "11").is_err());
}

#[test]
fn a_value_is_found_in_a_map() {
    let mapped = SMALL
        .replace("BatchSize: !Ref Size", "BatchSize: !FindInMap [Sizes, !Ref Size, Batch]")
        .replace("Resources:", "Mappings: {Sizes: {small: {Batch: 5}, large: {Batch: 500}}}\nResources:");
    let sized = |size: &str| {
        let given = BTreeMap::from([("Size".to_owned(), size.to_owned())]);
        Template::parse_with(&mapped, &given).map(|template| template.event_source.batch_size_max)
    };
    assert_eq!((sized("small").unwrap(), sized("large").unwrap()), (5, 500));
    assert!(
        matches!(sized("huge"), Err(TemplateError::Unresolved { property, .. }) if property.ends_with("BatchSize"))
    );
}

#[test]
fn a_parameter_keeps_to_its_allowed_values() {
    let given = BTreeMap::from([("PathRows".to_owned(), "yes".to_owned())]);
    match Template::parse_with(OWN, &given) {
        Err(TemplateError::Wrong { property, .. }) => assert_eq!(property, "Parameters.PathRows"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_parameter_keeps_to_its_allowed_pattern() {
    let with = |name: &str, value: &str| {
        Template::parse_with(OWN, &BTreeMap::from([(name.to_owned(), value.to_owned())])).map(drop)
    };
    for (name, value) in [
        ("PartitionKey", "my key"),
        ("PartitionKey", ""),
        ("PartitionKey", "PK\n"),
        ("OrderAttribute", "#order"),
        ("LinkAttributes", "a, b"),
        ("CorsOrigins", "http://a, http://b"),
        ("JwtScopes", "write=a,read=b"),
        ("JwtIssuer", "http://issuer"),
        ("AlarmEmail", "nobody"),
    ] {
        match with(name, value) {
            Err(TemplateError::Wrong { property, .. }) => assert_eq!(property, format!("Parameters.{name}")),
            other => panic!("{name}={value}: {other:?}"),
        }
    }
    for (name, value) in [
        ("PartitionKey", "pk"),
        ("OrderAttribute", ""),
        ("LinkAttributes", "a,b"),
        ("CorsOrigins", "http://a,http://b"),
        ("JwtScopes", "read=t/read,write=[t],delete=a-b"),
        ("JwtScopes", "delete=d"),
        ("JwtScopes", ""),
    ] {
        with(name, value).unwrap();
    }
}

#[test]
fn what_is_not_done_here_is_refused() {
    let changed = SMALL.replace("StartingPosition: LATEST", "StartingPosition: AT_TIMESTAMP");
    let given = BTreeMap::from([("Size".to_owned(), "1".to_owned())]);
    assert!(matches!(Template::parse_with(&changed, &given), Err(TemplateError::Unsupported { property, .. })
        if property.ends_with("StartingPosition")));
    let changed = SMALL.replace("      StreamSpec", "      GlobalSecondaryIndexes: []\n      StreamSpec");
    assert!(matches!(Template::parse_with(&changed, &given), Err(TemplateError::Unsupported { property, .. })
        if property.ends_with("GlobalSecondaryIndexes")));
}

#[test]
fn a_template_needs_one_event_source_mapping() {
    let without = SMALL.replace("Type: AWS::Lambda::EventSourceMapping", "Type: AWS::Lambda::EventInvokeConfig");
    assert!(matches!(Template::parse(&without), Err(TemplateError::EventSourceMappings { found: 0 })));
    assert!(matches!(Template::parse("a: [b"), Err(TemplateError::Yaml(_))));
    assert!(matches!(Template::parse("just text"), Err(TemplateError::EventSourceMappings { found: 0 })));
}

#[test]
fn a_mapping_names_its_function_by_name_by_arn_or_by_alias() {
    for name in ["!Ref Follower", "!GetAtt Follower.Arn", "!Ref Follower.Alias"] {
        let changed = SMALL.replace("FunctionName: !Ref Follower", &format!("FunctionName: {name}"));
        let given = BTreeMap::from([("Size".to_owned(), "1".to_owned())]);
        let template = Template::parse_with(&changed, &given).unwrap();
        assert_eq!(template.environment("t").unwrap()["LEVEL"], "info", "{name}");
    }
    let changed = SMALL.replace("FunctionName: !Ref Follower", "FunctionName: follower");
    let given = BTreeMap::from([("Size".to_owned(), "1".to_owned())]);
    assert!(matches!(Template::parse_with(&changed, &given), Err(TemplateError::Wrong { property, .. })
        if property == "Resources.Changes.Properties.FunctionName"));
}

#[test]
fn other_names_of_keys_reach_the_table_the_filter_and_the_functions() {
    let given = [("PartitionKey", "pk"), ("SortKey", "sk"), ("NodeSortKey", "METADATA"), ("TtlAttribute", "ttl")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let template = Template::parse_with(OWN, &BTreeMap::from(given)).unwrap();
    let key: Vec<&str> = template.table.key.iter().map(|attribute| attribute.name.as_str()).collect();
    assert_eq!(key, ["pk", "sk"]);
    assert_eq!(template.table.ttl_attribute.as_deref(), Some("ttl"));
    let filter = Filter::new(&template.event_source.filter_patterns).unwrap();
    let record = |sort_key: &str| json!({"dynamodb": {"Keys": {"pk": {"S": "V"}, "sk": {"S": sort_key}}}});
    assert!(["METADATA", "LINEAGE", "v001_x"].iter().all(|sort_key| filter.passes(&record(sort_key))));
    assert!(["NODE", "METADATA#0001#x", "v0_x"].iter().all(|sort_key| !filter.passes(&record(sort_key))));
    for function in ["StreamHandler", "ApiReader", "ApiWriter", "Auditor"] {
        let unknown = BTreeMap::from([("CURSOR_KEY".to_owned(), String::new())]);
        let environment = template.environment_of(function, "t", &unknown).unwrap();
        let names = ["PARTITION_KEY", "SORT_KEY", "NODE_SORT_KEY", "TTL_ATTRIBUTE"].map(|name| &environment[name]);
        assert_eq!(names, ["pk", "sk", "METADATA", "ttl"], "{function}");
    }
}

#[test]
fn conditions_in_a_circle_are_refused() {
    let circle = SMALL.replace("HasTtl: !Not [!Equals [!Ref Ttl, '']]", "HasTtl: !Condition HasTtl");
    let given = BTreeMap::from([("Size".to_owned(), "1".to_owned())]);
    assert!(matches!(Template::parse_with(&circle, &given), Err(TemplateError::Wrong { .. })));
}
