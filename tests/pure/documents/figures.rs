//! The figures in the documents are those of the code and the template. tests/reference has the generated parts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use sapwood_api::body::BODY_BYTES_MAX;
use sapwood_api::contract::OPERATIONS_MAX;
use sapwood_api::headers::WAIT_SECONDS_MAX;
use sapwood_core::keys::DEPTH_MAX;
use sapwood_core::model::{ENTRY_SECONDS, FORMAT};
use sapwood_core::plan::conditions::COMPARED_ATTRIBUTES_MAX;
use sapwood_core::write::{OPERATION_SECONDS, OUTCOME_SECONDS};
use sapwood_engine::query::Bounds;

use super::{EXAMPLE_SECONDS, ROOT, between, documents, read, section};

/// The directories of the files that make metrics: the stream handler's, those of both API functions, and the
/// auditor's.
const HANDLER_METRICS: &str = "shared/handlers/src/stream";
const API_METRICS: &str = "shared/http/src/serve";
const AUDITOR_METRICS: &str = "shared/handlers/src/audit";

/// Most metrics of a dashboard in AWS's free tier.
const FREE_METRICS_OF_A_DASHBOARD: usize = 50;

/// The nested stacks that have the alarms.
const ALARMS: [&str; 2] = ["infra/alarms.yaml", "infra/mapping-alarms.yaml"];

/// The hours for which a stream keeps a record.
const STREAM_HOURS: u64 = 24;

/// A text on one line, so that no end of a line is inside of a sentence.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Panics if a document lacks one of these figures, each with the words beside it.
fn assert_says(document: &str, figures: &[String]) {
    let text = flat(&read(document));
    for figure in figures {
        assert!(text.contains(figure.as_str()), "{document}: {figure}");
    }
}

/// The value of a constant that no other crate sees. It is a product of whole numbers.
fn constant(file: &str, name: &str) -> u64 {
    let source = read(file);
    let rest = source.split_once(&format!("const {name}: ")).unwrap().1;
    let value = rest.split_once(" = ").unwrap().1.split_once(';').unwrap().0;
    value.split(" * ").map(|factor| factor.replace('_', "").parse::<u64>().unwrap()).product()
}

/// A number with a comma after its thousands.
fn thousands(number: usize) -> String {
    format!("{},{:03}", number / 1_000, number % 1_000)
}

/// An amount of money, as the documents write it.
fn dollars(cents: usize) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// The parameters of the template that have a default, with that default.
fn defaults() -> BTreeMap<String, String> {
    let template = read("template.yaml");
    let mut name = "";
    let mut defaults = BTreeMap::new();
    for line in section(&template, "\nParameters:\n", "\nConditions:\n").lines() {
        if let Some(parameter) = line.strip_prefix("  ").filter(|rest| !rest.starts_with([' ', '#'])) {
            name = parameter.trim_end_matches(':');
        }
        if let Some(default) = line.strip_prefix("    Default: ") {
            defaults.insert(name.to_owned(), default.trim_matches('"').to_owned());
        }
    }
    defaults
}

/// The resources of a template or of a nested stack, each with its lines.
fn resources(file: &str) -> BTreeMap<String, String> {
    let template = read(file);
    let resources = template.split_once("\nResources:\n").unwrap().1.split("\nOutputs:\n").next().unwrap();
    let mut name = "";
    let mut blocks: BTreeMap<String, String> = BTreeMap::new();
    for line in resources.lines() {
        if let Some(resource) = line.strip_prefix("  ").filter(|rest| !rest.starts_with([' ', '#'])) {
            name = resource.trim_end_matches(':');
        }
        let block = blocks.entry(name.to_owned()).or_default();
        block.push_str(line);
        block.push('\n');
    }
    blocks
}

/// The alarms of both nested stacks, each with its lines.
fn alarms() -> BTreeMap<String, String> {
    let resources = ALARMS.into_iter().flat_map(resources);
    resources.filter(|(_, block)| value(block, "Type") == Some("AWS::CloudWatch::Alarm")).collect()
}

/// The value of the first line that has this key.
fn value<'a>(block: &'a str, key: &str) -> Option<&'a str> {
    block.lines().find_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix(": "))
}

/// The value of the first line that has this key, without a comment behind it.
fn bare<'a>(block: &'a str, key: &str) -> Option<&'a str> {
    value(block, key).map(|value| value.split(" #").next().unwrap().trim())
}

/// The constants of the template, each by the name of its property: values in one line, and no references to
/// parameters. One that several resources have differently has several values.
fn constants() -> BTreeMap<String, BTreeSet<String>> {
    let mut constants: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let template = read("template.yaml");
    for line in template.split_once("\nGlobals:\n").unwrap().1.split("\nOutputs:\n").next().unwrap().lines() {
        let Some((name, _)) = line.trim_start().split_once(": ") else { continue };
        let value = bare(line, name).unwrap().trim_matches(['[', ']', '"']);
        if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !value.starts_with(['!', '>', '{']) {
            constants.entry(name.to_owned()).or_default().insert(value.to_owned());
        }
    }
    constants
}

/// A value that is a whole number.
fn number(block: &str, key: &str) -> u64 {
    value(block, key).unwrap().parse().unwrap()
}

/// The names of the metrics that are made in the files of a directory.
fn metrics(directory: &str) -> BTreeSet<String> {
    let files = fs::read_dir(Path::new(ROOT).join(directory)).unwrap().map(|entry| entry.unwrap().path());
    let sources: Vec<String> =
        files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap()).collect();
    let made = ["Metric::count(\"", "Metric::amount(\"", "Metric::time(\"", "Metric::times(\"", "Metric::seconds(\""];
    let names = sources.iter().flat_map(|source| made.iter().flat_map(move |made| between(source, made, "\"")));
    names.map(str::to_owned).collect()
}

#[test]
fn the_constants_in_the_page_of_the_parameters_are_the_templates() {
    let (page, constants) = (read("docs/reference/parameters.md"), constants());
    let table = page.split_once("\n## Constants, and the commands that change them\n").unwrap().1;
    let mut shown = BTreeSet::new();
    let mut wrong = Vec::new();
    for row in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let names: Vec<&str> = cells[0].split('`').skip(1).step_by(2).collect();
        // The names of properties. Other cells name an alarm, an address or a function.
        let names = names.into_iter().filter(|name| constants.contains_key(*name));
        for (name, value) in names.zip(cells[1].split(", ")) {
            let value = value.split(" (").next().unwrap().trim_matches('`');
            if !constants[name].contains(value) {
                wrong.push(format!("{name}: {value}, not {:?}", constants[name]));
            }
            shown.insert(name.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mapping = resources("template.yaml").remove("TableChanges").unwrap();
    let settings = mapping.lines().filter_map(|line| line.strip_prefix("      ")?.split_once(": "));
    let settings = settings.filter(|(name, value)| !name.starts_with([' ', '#', '-']) && !value.starts_with('!'));
    let unexplained: Vec<&str> =
        settings.map(|(name, _)| name).filter(|name| *name != "StartingPosition" && !shown.contains(*name)).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
    for name in [
        "MemorySize",
        "ThrottlingRateLimit",
        "ThrottlingBurstLimit",
        "ExpirationInDays",
        "Architectures",
        "Type",
        "AUDIT_READ_UNITS",
        "AUDIT_PASS_HOURS",
        "ScheduleExpression",
    ] {
        assert!(shown.contains(name), "{name}");
    }
}

#[test]
fn the_documents_say_what_follows_from_the_constants() {
    let resources = resources("template.yaml");
    let factor = number(&resources["TableChanges"], "ParallelizationFactor");
    let rate = number(&resources["ApiStage"], "ThrottlingRateLimit");
    // A new table has so many shards, and a new account may run so many functions at once.
    let (shards, places) = (4, 10);
    let (handler, left) = (shards * factor, places - shards * factor);
    assert_says(
        "docs/operate/capacity.md",
        &[
            format!(
                "the mapping sends {factor} batches of each at once: the handler uses at most {handler} \
                 concurrent executions"
            ),
            format!("That leaves {left} of {places} to the API"),
            format!("The stage's own limit, {rate} requests a second,"),
        ],
    );
    let days = number(&resources["FailedRecords"], "ExpirationInDays");
    assert_says("docs/operate/runbooks/lost-records.md", &[format!("Objects expire after {days} days.")]);
    let batch = number(&resources["TableChanges"], "BatchSize");
    assert_says("docs/reference/costs.md", &[format!("a batch of {batch} records is one invocation")]);
}

#[test]
fn what_a_stage_sets_is_what_the_page_of_the_parameters_says() {
    let template = read("template.yaml");
    let stages = section(&template, "\n  Stages:\n", "\nRules:\n");
    let (dev, prod) = stages.split_once("    prod:\n").unwrap();
    let days = |stage: &str| format!("{} days", bare(stage, "LogRetentionDays").unwrap());
    let level = |stage: &str| format!("`{}`", bare(stage, "LogLevel").unwrap());
    let page = read("docs/reference/parameters.md");
    let says = |begin: &str| assert!(page.lines().any(|line| line.starts_with(begin)), "{begin}");
    says(&format!("| how long logs are kept | {} | {} |", days(prod), days(dev)));
    says(&format!("| log level of the functions | {} | {}", level(prod), level(dev)));
    let table = section(&template, "\n      OnDemandThroughput: !If\n", "\n      AttributeDefinitions:\n");
    let [no_cap, read, write] =
        ["- !Ref AWS::NoValue", "- MaxReadRequestUnits: ", "  MaxWriteRequestUnits: "].map(|begin| {
            let at = table.find(begin).unwrap();
            (at, table[at + begin.len()..].lines().next().unwrap())
        });
    assert!(table.trim_start().starts_with("- IsProduction\n") && no_cap.0 < read.0, "{table}");
    assert_eq!(read.1, write.1);
    let cap = thousands(read.1.parse().unwrap());
    says(&format!("| the most read units and write units a second | none | {cap} each"));
    assert_says("docs/operate/upgrade.md", &[format!("throttles at {cap} units a second")]);
    assert_eq!(bare(prod, "DeletionProtection"), Some("\"true\""));
    assert_eq!(bare(dev, "DeletionProtection"), Some("\"false\""));
    let resources = resources("template.yaml");
    for stack in ["AlarmStack", "MappingAlarmStack", "DashboardStack"] {
        assert!(resources[stack].contains("Condition: IsProduction\n"), "{stack}");
    }
    assert!(template.contains("\n  IsProduction: !Equals [!Ref Stage, prod]\n"));
    says("| deletion protection of the table | on | off |");
    says("| alarms, dashboard | yes | no |");
}

#[test]
fn a_value_beside_the_name_of_its_parameter_or_constant_is_the_templates() {
    let mut wrong = Vec::new();
    let defaults = defaults().into_iter().map(|(name, default)| (name, BTreeSet::from([default])));
    let values: BTreeMap<String, BTreeSet<String>> = constants().into_iter().chain(defaults).collect();
    for (path, text) in documents() {
        let text = flat(&text);
        for (name, values) in &values {
            let hours = |value: &String| value.parse::<u64>().map(|seconds| format!("{} hours", seconds / 3_600));
            let hours: BTreeSet<String> = values.iter().filter_map(|value| hours(value).ok()).collect();
            let begin = format!("`{name}` (");
            for shown in between(&text, &begin, ")").filter(|shown| shown.starts_with(|c: char| c.is_ascii_digit())) {
                if !values.contains(shown) && !hours.contains(shown) {
                    wrong.push(format!("{}: {begin}{shown})", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_age_limit_of_records_is_the_templates_wherever_it_is_named() {
    let resources = resources("template.yaml");
    let limit = bare(&resources["TableChanges"], "MaximumRecordAgeInSeconds").unwrap();
    let hours = limit.parse::<u64>().unwrap() / 3_600;
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        if !path.parent().unwrap().ancestors().any(|directory| directory.ends_with("docs")) {
            continue;
        }
        let text = flat(&text);
        let words: Vec<&str> = text.split(' ').collect();
        for pair in words.windows(2).filter(|pair| pair[1].starts_with("hours")) {
            let named = pair[0].trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>();
            if named.is_ok_and(|named| named != hours && named != STREAM_HOURS) {
                wrong.push(format!("{}: {} hours", path.display(), pair[0]));
            }
        }
        for argument in text.split("--maximum-record-age-in-seconds ").skip(1) {
            let named = argument.split(|c: char| c != '-' && !c.is_ascii_digit()).next().unwrap();
            if named != "-1" && named != limit {
                wrong.push(format!("{}: {named} seconds", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn alarms_and_metrics_are_as_many_as_the_costs_of_an_idle_stack_say() {
    // AWS charges an alarm by the metrics that it watches: with metric math these are several.
    let watched: usize = alarms().values().map(|alarm| alarm.matches("MetricStat:").count().max(1)).sum();
    let auditor = metrics(AUDITOR_METRICS).len();
    let of_the_auditor = alarms().values().filter(|alarm| alarm.contains("Condition: Audits\n")).count();
    let (alarms, handler, api) = (alarms().len(), metrics(HANDLER_METRICS).len(), metrics(API_METRICS).len());
    let shown = read("infra/dashboard.yaml").lines().filter(|line| line.trim_start().starts_with("[\"")).count();
    assert!(shown <= FREE_METRICS_OF_A_DASHBOARD, "{shown}");
    // In cents: a metric of an alarm 10, a dashboard 300, a secret 40, a metric 30.
    let (idle, metrics) = (watched * 10 + 300 + 40 + auditor * 30, handler + 2 * api);
    let unaudited = idle - auditor * 30 - of_the_auditor * 10;
    assert_says(
        "docs/decide/pricing.md",
        &[
            format!(
                "costs **{}** a month, plus storage. With `Audit=off` it costs {}.",
                dollars(idle),
                dollars(unaudited)
            ),
            format!("| {alarms} alarms on {watched} metrics at $0.10 | {} |", dollars(watched * 10)),
            format!("| the auditor's {auditor} metrics at $0.30 | {} |", dollars(auditor * 30)),
            format!("It costs {}, or $0.40 with `Audit=off`.", dollars(auditor * 30 + 40)),
            format!("{handler} of the stream handler and {api} of each API function. These are {metrics} at $0.30"),
            format!("or {} in a month in which each is written every hour", dollars(metrics * 30)),
            format!("The dashboard shows {shown} metrics"),
        ],
    );
}

#[test]
fn the_auditor_reads_as_much_a_month_as_the_costs_say() {
    let resources = resources("template.yaml");
    let schedule = bare(&resources["AuditSchedule"], "ScheduleExpression").unwrap();
    let minutes: u64 = schedule.strip_prefix("rate(").unwrap().strip_suffix(" minutes)").unwrap().parse().unwrap();
    let units: u64 = bare(&resources["Auditor"], "AUDIT_READ_UNITS").unwrap().trim_matches('"').parse().unwrap();
    let hours: u64 = bare(&resources["Auditor"], "AUDIT_PASS_HOURS").unwrap().trim_matches('"').parse().unwrap();
    assert_eq!(hours, 24, "the table below has a pass a day");
    let runs = 30 * 24 * 60 / minutes;
    let most = runs * units;
    // A read unit costs an eighth of a millionth of a dollar.
    let of = |units: u64| dollars(usize::try_from(units + 40_000).unwrap() / 80_000);
    let millions = |units: u64| format!("{:.1} M", units as f64 / 1e6);
    let month = format!("{} units, {} |", millions(most), of(most));
    // A pass over a million nodes at depth 4 (docs/operate/verify-repair.md).
    let pass = 5_840_000;
    let days = |runs: u64| format!("{:.0} days", (runs * minutes) as f64 / 1_440.0);
    assert_says("docs/operate/verify-repair.md", &[format!("{}, {}", millions(pass), of(pass))]);
    assert_says(
        "docs/decide/pricing.md",
        &[
            format!("there are {} runs in 30 days", thousands(usize::try_from(runs).unwrap())),
            format!("**So it reads at most {} units a month, {}**", millions(most), of(most)),
            format!(
                "| 10,000 nodes | {},000 read units | {} runs, half an hour | {} units, {} |",
                pass / 100_000,
                (pass / 100).div_ceil(units),
                millions(30 * pass / 100),
                of(30 * pass / 100)
            ),
            format!(
                "| 1 M nodes | {} read units | {} runs, {} | {month}",
                millions(pass),
                pass.div_ceil(units),
                days(pass / units)
            ),
            format!("| 10 M nodes | {} M read units | {}", 10 * pass / 1_000_000, days(10 * pass / units)),
        ],
    );
    // A run spends them evenly over a share of its time.
    let source = read("shared/handlers/src/audit/mod.rs");
    let share: f64 = between(&source, "const SHARE_FOR_SCAN: f64 = ", ";").next().unwrap().parse().unwrap();
    let span = (number(&resources["Auditor"], "Timeout") as f64 * share) as u64;
    assert!(span < minutes * 60, "a run is over before the next one begins");
    let second = units / span;
    assert_says("docs/reference/parameters.md", &[format!("{second} units a second, spread over the run")]);
    assert_says("template.yaml", &[format!("spent evenly: {second} a second, so that nobody notices.")]);
    assert_says(
        "docs/decide/pricing.md",
        &[
            format!("evenly over {span} s, {second} a second."),
            // 512 MB, at $13.3334 for a million GB-seconds.
            format!("at most ${:.2})", (runs * span) as f64 * 0.5 * 13.3334e-6),
            format!("(so ${:.2} for 10,000 nodes,", (30 * pass / 100 * span / units) as f64 * 0.5 * 13.3334e-6),
        ],
    );
}

#[test]
fn the_time_limits_in_the_documents_are_those_of_the_template_and_the_code() {
    let resources = resources("template.yaml");
    let timeout = |function: &str| number(&resources[function], "Timeout");
    let (handler, api) = (timeout("StreamHandler"), timeout("ApiReader"));
    assert_eq!(timeout("ApiWriter"), api);
    let auditor = timeout("Auditor");
    let gateway = number(&resources["ApiReaderIntegration"], "TimeoutInMillis") / 1_000;
    let wait = WAIT_SECONDS_MAX;
    let lease = constant("shared/core/src/write/attempts.rs", "LEASE_SECONDS");
    assert!(u64::from(wait) < api && api < gateway && gateway < lease);
    let (body, page) = (BODY_BYTES_MAX / 1_048_576, Bounds::BYTES_MAX / 1_000_000);
    let limits = [
        format!(
            "{handler} s for the handler, and {api} s for the API, because API Gateway times out after {gateway} s. \
             The auditor has {auditor} s."
        ),
        format!("our own limits are lower: {api} s, a body of {body} MB, a page of {page} MB"),
    ];
    assert_says("docs/operate/capacity.md", &limits);
    assert_says("docs/reference/parameters.md", &[format!("(`wait` holds an answer for up to {wait} s)")]);
    assert_says("docs/reference/problems.md", &[format!("the body is over {body} MB")]);
    assert_says("docs/internals/protocol/write.md", &[format!("a lease of {lease} s.")]);
    assert_says("docs/operate/runbooks/handler-errors.md", &[format!("reached its limit of {handler} s,")]);
    assert_says("docs/operate/runbooks/api-errors.md", &[format!("reached its limit of {api} s,")]);
    assert_says("docs/operate/runbooks/audit.md", &[format!("reaches its limit of {auditor} s")]);
    assert_says("docs/operate/runbooks/api-errors.md", &[format!("its {api} s are up")]);
    let latency = format!("`Prefer: wait={wait}` is meant to take that long.");
    assert_says("docs/operate/runbooks/api-latency.md", &[latency, format!("above {wait} s.")]);
    assert_says("infra/alarms.yaml", &[format!("delays an answer for up to {wait} seconds")]);
}

#[test]
fn items_are_kept_for_as_long_as_the_documents_say() {
    let traces = "shared/core/src/write/traces.rs";
    let deletion = "shared/core/src/model/deletion.rs";
    let [tombstone, tombstone_kept] =
        ["TOMBSTONE_SECONDS", "TOMBSTONE_KEPT_SECONDS"].map(|name| constant(deletion, name));
    let deleted = constant(traces, "DELETED_SECONDS");
    let (operation, outcome) = (OPERATION_SECONDS, OUTCOME_SECONDS);
    let days = |seconds: u64| format!("{} days", seconds / 86_400);
    let hours = |seconds: u64| format!("{} hours", seconds / 3_600);
    let part = constant("shared/core/src/write/idempotency.rs", "PART_BYTES") / 1_024;
    assert_says(
        "docs/reference/items.md",
        &[
            format!("in seconds since 1970: {} after the writing.", days(tombstone_kept)),
            format!("It counts for {}", days(tombstone)),
            format!("A deletion that the stream carries out. It is kept for {}.", days(operation)),
            format!("A record that the API has deleted this id. It is kept for {},", days(deleted)),
            format!("a lease while it runs. It is kept for {}.", hours(outcome)),
            format!("several parts of {part} KB"),
            format!("It is kept for {}.", days(ENTRY_SECONDS)),
        ],
    );
    assert_says(
        "docs/internals/protocol/delete.md",
        &[
            format!("(`DELETED`), for {},", days(deleted)),
            format!("counts for {} from now. It stays for {},", days(tombstone), tombstone_kept / 86_400),
        ],
    );
    let remembered = format!("is remembered for {}.", days(deleted.min(tombstone_kept)));
    assert_says("docs/reference/guarantees.md", &[remembered]);
    assert_says("docs/guides/write.md", &[format!("For {} the same key and body", hours(outcome))]);
    let contract = "shared/api/src/contract/operations";
    assert_says(&format!("{contract}/reads.rs"), &[format!("An operation is kept for {}.", days(operation))]);
    assert_says(&format!("{contract}/parameters.rs"), &[format!("For {} ", hours(outcome))]);
    // The examples are of one moment.
    let items = read("docs/reference/items.md");
    let expires: BTreeSet<&str> = between(&items, "\"_expires\": {\"N\": \"", "\"").collect();
    let kept = [operation, deleted, outcome, ENTRY_SECONDS].map(|seconds| (EXAMPLE_SECONDS + seconds).to_string());
    assert_eq!(expires, kept.iter().map(String::as_str).collect());
}

#[test]
fn the_limits_in_the_documents_are_those_of_the_code() {
    let shards = constant("shared/core/src/keys/schema.rs", "ORPHAN_SHARDS");
    assert_says(
        "docs/reference/table.md",
        &[format!("carry `format`, the number {FORMAT}."), format!("modulo {shards})")],
    );
    let queries = format!("A batch needs at most {shards} queries");
    assert_says("docs/internals/protocol/reconcile.md", &[queries]);
    let compared = format!("one condition can compare ({COMPARED_ATTRIBUTES_MAX})");
    assert_says("docs/internals/protocol/write.md", &[compared]);
    let newest = sapwood_core::write::Limits::default().revision_page_items_max;
    let batch = format!("parents first, {OPERATIONS_MAX} at a time.");
    assert_says("docs/guides/import-export.md", &[batch]);
    assert_says("docs/reference/call-costs.md", &[format!("isn't among its newest {newest} revisions")]);
    let rounds = sapwood_core::fanout::Limits::default().rounds_max;
    assert_says("docs/operate/runbooks/handler-errors.md", &[format!("`rounds` near {rounds} ")]);
    for (document, figure) in [
        ("README.md", format!("{DEPTH_MAX} levels")),
        ("docs/start/concepts.md", format!("nearest {DEPTH_MAX} ancestors")),
        ("docs/start/concepts.md", format!("Rows exist for {DEPTH_MAX} levels")),
        ("docs/reference/problems.md", format!("deeper than {DEPTH_MAX},")),
        ("docs/operate/capacity.md", format!("at most {DEPTH_MAX} levels")),
        ("docs/internals/protocol/reconcile.md", format!("after the {DEPTH_MAX}th (`DEPTH_MAX`)")),
        ("docs/operate/runbooks/bad-records.md", format!("deeper than {DEPTH_MAX} levels")),
    ] {
        assert_says(document, &[figure]);
    }
}

#[test]
fn the_page_of_parameters_names_every_variable_of_the_functions() {
    let template = read("template.yaml");
    let parameters = read("docs/reference/parameters.md");
    let variables = parameters.split_once("\n## Variables of the functions\n").unwrap().1;
    let is_variable =
        |name: &&str| name.len() > 4 && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let names: BTreeSet<&str> = template
        .lines()
        .filter_map(|line| line.trim().split_once(':'))
        .map(|(name, _)| name)
        .filter(is_variable)
        .collect();
    assert!(names.len() > 25 && names.contains("LINK_ATTRIBUTES") && names.contains("AUDIT"), "{names:?}");
    for name in names {
        assert!(variables.contains(&format!("`{name}`")), "{name}");
    }
}

/// The cells of the rows of a table, without those of its head.
fn cells(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.map(|row| row.split(" | ").map(str::trim).collect()).collect()
}

/// A table of figures between its marks, in whichever document has it.
fn measured(name: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"));
    let found = documents().into_iter().find(|(_, text)| text.contains(&begin));
    section(&found.unwrap_or_else(|| panic!("no document has the table {name}")).1, &begin, &end).to_owned()
}

/// The cell of a table in the row that begins with these cells, in the column of this head.
fn cell(table: &str, row: &[&str], column: &str) -> String {
    let rows = cells(table);
    let head = rows.first().unwrap().iter().position(|cell| *cell == column);
    let found = rows.iter().find(|cells| cells.starts_with(row)).unwrap_or_else(|| panic!("{row:?} in {table}"));
    found[head.unwrap_or_else(|| panic!("no column {column}"))].to_owned()
}

#[test]
fn the_readmes_comparison_is_what_was_measured() {
    let readme = read("README.md");
    let shown = cells(section(&readme, "## Compared", "## What it isn't"));
    let says = |approach: &str, column: usize, figure: &str| {
        let row = shown.iter().find(|row| row[0].trim_matches(['*', ' ']).starts_with(approach)).unwrap();
        assert!(row[column].contains(figure), "{approach}: {:?} lacks {figure}", row[column]);
    };
    let of_200 = |cell: &str| cell.replace(" of ", "/");
    let (races, rightness) = (measured("races"), measured("rightness"));
    let right = cells(&races)[0].iter().position(|cell| *cell == "right").unwrap();
    for (approach, peer) in [
        ("Sapwood", "Sapwood"),
        ("DynamoDB copy", "replication in DynamoDB, a blog's code"),
        ("PostgreSQL", "PostgreSQL's `ltree`"),
        ("… `SERIALIZABLE`", "PostgreSQL's `ltree`, `SERIALIZABLE`, tried again"),
        ("django-treebeard", "django-treebeard 7.0.3, each move with a lock on the table"),
    ] {
        let row = cells(&races).into_iter().find(|row| row[0] == peer).unwrap().join(" | ");
        says(approach, 1, &of_200(row.split(" | ").nth(right).unwrap()));
    }
    let (creates, moves, reads) = (measured("creates"), measured("moves"), measured("reads"));
    let below = "everything below (1,110)";
    for (approach, pattern) in [
        ("DynamoDB adjacency", "adjacency list"),
        ("DynamoDB path", "path"),
        ("DynamoDB copy", "replication"),
        ("Sapwood", "Sapwood"),
    ] {
        let row = cells(&rightness).into_iter().find(|row| row[0] == pattern).unwrap().join(" | ");
        says(approach, 1, &of_200(row.split(" | ").nth(1).unwrap()));
        says(approach, 2, &format!("{} WU", cell(&creates, &["4", "write units"], pattern)));
        says(approach, 3, &format!("{} WU", cell(&moves, &["1,000", "write units"], pattern)));
        says(approach, 4, &format!("{} RU", cell(&reads, &[below, "read units"], pattern)));
    }
}

#[test]
fn the_comparisons_figures_are_those_of_the_benchmarks() {
    let (compare, benchmarks) = (read("docs/decide/compare.md"), read("docs/decide/benchmarks.md"));
    for (row, part, begin) in [
        ("create below 4 ancestors, write", "creates", ["4", "write units"]),
        ("rename above 1,000 nodes, write", "renames", ["1,000", "write units"]),
        ("move 1,000 nodes, write", "moves", ["1,000", "write units"]),
        ("delete 1,000 nodes, write", "deletes", ["1,000", "write units"]),
        ("children (10), read", "reads", ["children (10)", "read units"]),
        ("subtree of 1,110 nodes, read", "reads", ["everything below (1,110)", "read units"]),
    ] {
        let table = section(&benchmarks, &format!("<!-- {part} -->"), &format!("<!-- end of {part} -->"));
        let counted = cells(table).into_iter().find(|cells| cells[..2] == begin).unwrap();
        let figures = format!("| {row} | {} |", counted[2..].join(" | "));
        assert!(compare.contains(&figures), "{figures}");
    }
    let races = cells(section(&benchmarks, "<!-- races -->", "<!-- end of races -->"));
    let told = cells(section(&compare, "## Overlapping moves", "In a [second experiment]")).concat().join(" ");
    for race in races.iter().skip(1) {
        let right = race[1].split(' ').next().unwrap();
        assert!(told.contains(right) && told.contains(race[2]), "{race:?}");
    }
}
