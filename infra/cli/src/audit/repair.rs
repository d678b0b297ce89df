//! `sapwood repair`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use sapwood_core::audit::{Difference, Kind, Mended, Subject, due};
use sapwood_core::keys::ItemKey;
use sapwood_core::model::Settings;
use sapwood_core::plan::Rules;
use sapwood_dynamodb::DynamoTable;
use sapwood_store::{Client, ErrorKind};
use serde_json::json;

use super::pass::{Compared, PassResult};
use super::plan::Plan;
use super::requeued::Touched;
use super::verify::exit;
use super::{Comparison, difference_file, report};
use crate::clock::nanoseconds;
use crate::compare::Reading;
use crate::connect::{Connection, Patient, Whose, left_by_handler};
use crate::exit::Exit;
use crate::printable::shown;
use crate::recognised::check_keys;
use crate::say::{YES, agrees, say};

/// Most rounds: a row that no lineage names waits for its node's lineage, and a child for its parent's.
const ROUNDS_MAX: usize = 10;

/// Repair what `sapwood verify` finds. The table may be in use. Nothing of yours in a base record changes: the stream
/// handler rewrites the rows.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood repair --table sapwood --endpoint http://127.0.0.1:8000
  sapwood repair --table sapwood --profile prod --report differences.jsonl --yes
  sapwood repair --table sapwood --profile prod --under V

Other readers of the table's stream see a change of each record that is mended (the attribute _redriven). It ends as `sapwood verify`
does: with 0 if nothing is wrong any more, and 1 if something is left. The last look covers what was mended, and what its mends may have changed.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    comparison: Comparison,
    /// Repair the differences in this report, as far as they persist.
    #[arg(long, value_name = "FILE", conflicts_with = "under")]
    report: Option<PathBuf>,
    /// Skip the confirmation.
    #[arg(long)]
    yes: bool,
    /// Stop before writing if there are more differences: a sign of wrong settings.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    max_differences: usize,
}

pub(crate) async fn run(arguments: Arguments) -> Result<Exit> {
    let reported = arguments.report.as_deref().map(difference_file::read).transpose()?;
    let (table, settings, whose) = arguments.connection.open_and_tell().await?;
    check_keys(&table).await?;
    check_settings(&table, &settings).await?;
    let client = Client::new(&table, &Patient, &settings.schema);
    let compared = Compared::new(&client, &settings, &arguments.comparison, &arguments.connection);
    let json = arguments.comparison.json;
    let mut found = match &reported {
        None => compared.all(whose).await?,
        Some(reported) => compared.some(subjects(reported)).await?,
    };
    report::print(&found, whose, json);
    let first = due(found.settled.clone());
    if first.is_empty() {
        return Ok(exit(&found));
    }
    check_number(&found.settled, arguments.max_differences)?;
    let top = arguments.comparison.top(&settings.schema)?;
    let plan = Plan::of(&client, &settings, &report::faults(&found.settled), &first, top.as_ref()).await?;
    if json {
        say!("{}", plan.json());
    } else {
        plan.words(top.as_ref()).into_iter().for_each(|line| say!("{line}"));
    }
    if !arguments.yes && !agrees(&plan.question(), YES)? {
        return Ok(Exit::Wrong);
    }
    let limit = arguments.max_differences;
    let (touched, in_vain, busy) = Default::default();
    let mut repair = Repair { compared: &compared, plan, whose, limit, json, touched, in_vain, busy };
    // Mending something else doesn't settle what couldn't be compared at first, or still changed.
    let open = found.settled.iter().filter(|one| one.kind.is_unjudged()).chain(&found.moving);
    repair.touched.subjects.extend(open.map(Difference::subject));
    for _ in 0..ROUNDS_MAX {
        let Some((after, goes_on)) = repair.round(&found).await? else { break };
        found = after;
        if !goes_on {
            break;
        }
    }
    report::print(&found, whose, json);
    if found.moving.iter().any(|one| one.kind.is_recounted()) {
        eprintln!("totals that are written all the time can't be counted anew in place. Begin all anew: {BEGIN_ANEW}");
    }
    // Totals that were written while they were counted are neither mended nor refused.
    let is_busy = |one: &&Difference| repair.busy.contains(&(one.key.clone(), one.kind));
    let faults = report::faults(&found.settled);
    Ok(if !faults.is_empty() && faults.iter().all(is_busy) { Exit::Unfinished } else { exit(&found) })
}

/// A repair that was agreed to.
struct Repair<'a> {
    compared: &'a Compared<'a>,
    plan: Plan,
    whose: Whose,
    limit: usize,
    json: bool,
    touched: Touched,
    /// The differences whose mends had no effect.
    in_vain: BTreeSet<InVain>,
    /// The totals that were written while they were counted.
    busy: BTreeSet<(ItemKey, Kind)>,
}

impl Repair<'_> {
    /// Mends what is due, if anything is, and looks again. Returns true with the result if another round may mend more.
    async fn round(&mut self, found: &PassResult) -> Result<Option<(PassResult, bool)>> {
        let Reading { client, settings, .. } = &self.compared.reading;
        let (looked_at, before) = (subjects(&found.settled), names(&found.settled));
        let in_vain_before = self.in_vain.len();
        let mut due = self.plan.told(client, settings, due(found.settled.clone())).await?;
        // A mend without effect doesn't keep others from their turn.
        due.retain(|one| !self.in_vain.contains(&as_found(one)));
        if due.is_empty() {
            return Ok(None);
        }
        self.touched.add(client, settings, &due).await?;
        let (totals, others): (Vec<_>, Vec<_>) = due.into_iter().partition(|one| one.kind.is_recounted());
        let is_epoch_mended = others.iter().any(|one| one.kind == Kind::EpochWrong);
        let (tried, of_recount) = (names(&others), names(&totals));
        // Nodes counted wrong make totals seem wrong, and counting them writes these.
        if others.is_empty() {
            self.recount(&totals).await?;
        } else {
            self.mend(others).await?;
        }
        if is_epoch_mended {
            // Only now can be told what is counted wrong, and no report has it.
            let found = self.compared.all(self.whose).await?;
            check_number(&found.settled, self.limit)?;
            return Ok(Some((found, true)));
        }
        // A node that was counted anew was added to the totals of all its ancestors, whatever these were before.
        let totals = self.touched.subjects.iter().filter(|subject| matches!(subject, Subject::Totals(_))).cloned();
        let mut found = self.compared.some(looked_at.into_iter().chain(totals).collect()).await?;
        if report::faults(&found.settled).is_empty() && report::faults(&found.moving).is_empty() {
            found = self.compared.again(&self.touched).await?;
        }
        // If nothing has come of it, another round would only write the same once more: no handler takes the records.
        let is_vain = names(&found.settled) == before && self.in_vain.len() == in_vain_before;
        let is_of_both = !of_recount.is_empty() && !tried.is_empty();
        if is_vain && is_of_both {
            // Totals don't wait for what the handler can't do.
            let tried = found.settled.iter().filter(|one| tried.contains(&(one.key.clone(), one.kind)));
            self.in_vain.extend(tried.map(as_found));
        }
        let goes_on = !report::faults(&found.settled).is_empty() && !is_vain;
        Ok(Some((found, goes_on || is_vain && is_of_both)))
    }

    async fn recount(&mut self, totals: &[Difference]) -> Result<()> {
        let mended = self.compared.recount(totals.iter().map(|one| one.node.clone()).collect()).await?;
        self.busy.clear();
        if mended.values().any(|one| *one == Mended::Recounted) {
            // Lanes that nobody could add to may have kept nodes from being counted.
            self.in_vain.clear();
        }
        for one in totals {
            let mended = mended.get(&one.node).copied().unwrap_or(Mended::Left);
            tell(one, mended, self.json);
            self.busy.extend((mended == Mended::Busy).then(|| (one.key.clone(), one.kind)));
        }
        Ok(())
    }

    async fn mend(&mut self, due: Vec<Difference>) -> Result<()> {
        let audit = self.compared.reading.audit();
        for (difference, name) in due.into_iter().zip(nanoseconds() + 1..) {
            let as_found = as_found(&difference);
            match audit.mend(difference.clone(), name.to_string(), Rules::default()).await {
                Ok(mended) => {
                    self.in_vain.extend(matches!(mended, Mended::Gone | Mended::Left).then_some(as_found));
                    tell(&difference, mended, self.json);
                }
                // A record of 400 KB has no room for the attribute. The others are mended.
                Err(error) if error.kind == ErrorKind::Refuse => {
                    eprintln!("{} can't be mended: {error}", words(&difference));
                    told(&difference, "refused", self.json);
                    self.in_vain.insert(as_found);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The command for totals that are never at rest.
const BEGIN_ANEW: &str = "sapwood backfill --totals";

/// A repair with other settings than the handler's would have it write everything anew, for ever.
async fn check_settings(table: &DynamoTable, settings: &Settings) -> Result<()> {
    let announcement = left_by_handler(table).await?.context(
        "no stream handler has left its settings in this table, so nobody would write the rows: deploy the handler of this release, and write any record",
    )?;
    let names = announcement.differs_in(settings);
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    bail!(
        "the settings differ from those that the stream handler has left in the table, in {names}: leave out --parameter, and the handler's count"
    )
}

/// More differences than any accident makes come of wrong settings.
fn check_number(differences: &[Difference], limit: usize) -> Result<()> {
    let found = report::faults(differences).len();
    if found <= limit {
        return Ok(());
    }
    bail!(
        "{found} differences are more than --max-differences {limit}: with wrong settings everything looks wrong. Compare --parameter with those of the stack; give a higher limit if they are right. Where most are counts or totals, begin all totals anew instead: \
         {BEGIN_ANEW}"
    )
}

fn names(differences: &[Difference]) -> BTreeSet<(ItemKey, Kind)> {
    differences.iter().map(|difference| (difference.key.clone(), difference.kind)).collect()
}

fn subjects(differences: &[Difference]) -> BTreeSet<Subject> {
    differences.iter().map(Difference::subject).collect()
}

/// A difference that nothing has come of, as it was found.
type InVain = (ItemKey, Kind, u64);

fn as_found(difference: &Difference) -> InVain {
    (difference.key.clone(), difference.kind, difference.evidence)
}

fn tell(difference: &Difference, mended: Mended, json: bool) {
    if mended == Mended::Busy {
        let words = words(difference);
        eprintln!(
            "{words} was written while it was counted. Try again when less is written, or begin all totals anew: {BEGIN_ANEW}"
        );
    }
    told(difference, &format!("{mended:?}").to_lowercase(), json);
}

fn told(difference: &Difference, mended: &str, json: bool) {
    if json {
        let mut line = difference_file::line(difference);
        line["mended"] = json!(mended);
        say!("{line}");
    }
}

fn words(difference: &Difference) -> String {
    format!("{} | {}", shown(&difference.key.pk), shown(&difference.key.sk))
}
