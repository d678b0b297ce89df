//! The alarms, of their nested stacks.

use serde::Deserialize;
use serde_yaml_ng::Value;

/// The nested stacks that have the alarms, the more urgent first.
const STACKS: [&str; 2] =
    [include_str!("../../../infra/mapping-alarms.yaml"), include_str!("../../../infra/alarms.yaml")];

/// The end of a description: the alarm's section of the runbooks.
const SECTION: &str = " See docs/operate/runbooks/";

/// The properties of an alarm that say when it goes off.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Properties {
    alarm_description: String,
    metric_name: Option<String>,
    period: Option<u64>,
    #[serde(default)]
    metrics: Vec<Value>,
    evaluation_periods: u64,
    datapoints_to_alarm: u64,
    threshold: f64,
}

/// An alarm with the page that explains it.
struct Alarm {
    name: String,
    meaning: String,
    section: String,
    duration: String,
    threshold: Option<String>,
}

/// A line of a table for each alarm. Alarms that differ in nothing but their names share a line.
pub(crate) fn page() -> String {
    let mut rows: Vec<(Vec<String>, String)> = Vec::new();
    for Alarm { name, meaning, section, duration, threshold } in alarms() {
        // A share is in the meaning.
        let when = threshold
            .filter(|figure| !figure.ends_with('%'))
            .into_iter()
            .chain([duration])
            .collect::<Vec<_>>()
            .join(", ");
        let row = format!("{meaning} | {when}");
        let name = format!("[`{name}`]({section})");
        match rows.iter_mut().find(|(_, other)| *other == row) {
            Some((names, _)) => names.push(name),
            None => rows.push((vec![name], row)),
        }
    }
    let rows = rows.into_iter().map(|(names, row)| format!("| {} | {row} |\n", names.join(", ")));
    format!("| alarm | meaning | on at |\n|---|---|---|\n{}", rows.collect::<String>())
}

#[allow(clippy::expect_used, reason = "the stacks are part of this repository")]
fn alarms() -> Vec<Alarm> {
    let stacks = STACKS.map(|stack| serde_yaml_ng::from_str::<Value>(stack).expect("the stack is YAML"));
    let resources = stacks.iter().filter_map(|stack| stack["Resources"].as_mapping()).flatten();
    let alarms = resources.filter(|(_, resource)| resource["Type"] == "AWS::CloudWatch::Alarm");
    let alarm = |(name, resource): (&Value, &Value)| {
        let alarm: Properties = serde_yaml_ng::from_value(resource["Properties"].clone()).expect("an alarm");
        let (meaning, section) = alarm.alarm_description.split_once(SECTION).expect("a description names its section");
        Alarm {
            name: name.as_str().unwrap_or_default().to_owned(),
            meaning: meaning.replace(" - ", ": "),
            section: section.to_owned(),
            duration: alarm.duration(),
            threshold: alarm.threshold(),
        }
    };
    alarms.map(alarm).collect()
}

impl Properties {
    /// How long the threshold is passed.
    fn duration(&self) -> String {
        let of_metric = |metric: &Value| metric["MetricStat"]["Period"].as_u64();
        let seconds = self.period.or_else(|| self.metrics.iter().find_map(of_metric)).unwrap_or_default();
        let minutes = seconds / 60;
        match (minutes, self.evaluation_periods, self.datapoints_to_alarm) {
            (1, 1, 1) => "one is enough".to_owned(),
            (1, all, some) if some == all => format!("for {all} minutes in a row"),
            (1, all, some) => format!("in {some} of {all} minutes"),
            (1_440, 1, 1) => "once a day".to_owned(),
            (60, all, some) if some == all && all > 1 => format!("for {all} hours"),
            (_, 1, 1) if self.threshold == 1.0 => format!("one or more in {minutes} minutes"),
            (_, 1, 1) => format!("in {minutes} minutes"),
            (_, all, some) if some == all => format!("for {} minutes", minutes * all),
            (_, all, some) => format!("in {some} of {all} periods of {minutes} minutes"),
        }
    }

    /// The threshold with its unit; `None` for a threshold of none or one.
    fn threshold(&self) -> Option<String> {
        let amount = self.threshold;
        match self.metric_name.as_deref() {
            Some("IteratorAge" | "Latency") => Some(format!("{} s", amount / 1_000.0)),
            Some("AuditAge") => Some(format!("{} days", amount / 86_400.0)),
            _ if amount > 1.0 => Some(format!("{amount} or more")),
            _ if 0.0 < amount && amount < 1.0 => Some(format!("{} %", amount * 100.0)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods)]

    use std::fs;

    use super::{Alarm, alarms};

    /// A page of the documents on one line, in small letters.
    fn flat(page: &str) -> String {
        let text = fs::read_to_string(format!("{}/docs/{page}", crate::ROOT)).unwrap();
        text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_page_of_an_alarm_says_when_it_goes_off_and_that_of_parameters_has_its_threshold() {
        let (alarms, parameters) = (alarms(), flat("reference/parameters.md"));
        assert!(alarms.len() > 20);
        let mut missing = Vec::new();
        for Alarm { name, section, duration, threshold, .. } in alarms {
            let page = flat(&format!("operate/runbooks/{}", section.split('#').next().unwrap()));
            let figures = [Some(&duration), threshold.as_ref()].into_iter().flatten();
            missing
                .extend(figures.filter(|figure| !page.contains(&**figure)).map(|figure| format!("{name}: {figure}")));
            if let Some(figure) = threshold.filter(|figure| !figure.ends_with('%')) {
                let row = format!("| the alarm `{name}` | {} |", figure.trim_end_matches(" or more")).to_lowercase();
                missing.extend((!parameters.contains(&row)).then_some(row));
            }
        }
        assert!(missing.is_empty(), "{missing:#?}");
    }
}
