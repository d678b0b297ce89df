//! How far a pass has come, in a file: whoever runs the same command again after a kill goes on from there.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use sapwood_core::audit::{Position, Suspects};
use sapwood_core::keys::{ItemKey, Tenant};
use sapwood_core::model::Settings;
use sapwood_engine::audit::Page;
use sapwood_import::backlog::Part;
use serde_json::{Value, json};

use super::Comparison;
use super::difference_file::{line, node, parse};
use super::looked_at::{Seen, counted};
use crate::clock::{now, seconds};
use crate::replace::replace;

/// The time from one saving to the next.
const SAVED_EVERY: Duration = Duration::from_secs(2);

/// A pass that was begun so long ago says little about the table as it is now.
const AGE_SECONDS_MAX: u64 = 24 * 3_600;

/// How far a pass over the whole table has come.
pub(super) struct Work {
    path: Option<PathBuf>,
    /// The table, the settings and the segments. Another pass doesn't go on from this file.
    about: Value,
    began: u64,
    progress: Mutex<Progress>,
}

struct Progress {
    parts: Vec<Part>,
    seen: Seen,
    suspects: Suspects,
    saved: Instant,
}

impl Work {
    /// Goes on with the pass of the working file, if there is one, and otherwise begins.
    pub(super) fn open(comparison: &Comparison, segments: u32, table: &str, settings: &Settings) -> Result<Self> {
        let about = json!({"table": table, "settings": settings.variables(), "segments": segments});
        let mut work = Self {
            path: comparison.work.clone(),
            about,
            began: seconds(),
            progress: Mutex::new(Progress {
                parts: vec![Part::At(None); segments as usize],
                seen: Seen::default(),
                suspects: Suspects::new(comparison.window()),
                saved: now(),
            }),
        };
        if let Some(path) = comparison.work.clone().filter(|path| path.exists()) {
            work.go_on(&path)?;
        }
        Ok(work)
    }

    fn go_on(&mut self, path: &Path) -> Result<()> {
        let name = path.display();
        let text =
            std::fs::read_to_string(path).map_err(|error| anyhow!("the working file {name} can't be read: {error}"))?;
        let no_work = || anyhow!("{name} isn't the working file of a pass: name another with --work, or delete it");
        let saved: Value = serde_json::from_str(&text).map_err(|_| no_work())?;
        if saved["about"] != self.about {
            bail!(
                "{name} is the working file of another pass: the table, its settings or --segments differ. Name another file, or delete it to begin anew"
            );
        }
        let began = saved["began"].as_u64().unwrap_or_default();
        if self.began.saturating_sub(began) > AGE_SECONDS_MAX {
            eprintln!("sapwood: the pass of {name} was begun more than a day ago, so it begins anew");
            return Ok(());
        }
        let mut progress = self.progress();
        let parts: Option<Vec<Part>> =
            saved["parts"].as_array().and_then(|parts| parts.iter().map(read_part).collect());
        let suspects = saved["suspects"].as_array().and_then(|all| all.iter().map(parse).collect());
        let (Some(parts), Some(suspects), Some(seen)) = (parts, suspects, Seen::read(&saved["seen"])) else {
            return Err(no_work());
        };
        progress.parts = parts;
        progress.seen = seen;
        progress.suspects.take(suspects, Duration::ZERO);
        let items = counted(progress.seen.items, "item is", "items are");
        eprintln!("sapwood: going on with the pass of {name}, {items} compared");
        drop(progress);
        self.began = began;
        Ok(())
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how far a part of the table is read.
    pub(super) fn part(&self, segment: u32) -> Part {
        self.progress().parts[segment as usize].clone()
    }

    /// Takes what a page of a part has shown.
    pub(super) fn take(&self, segment: u32, page: Page, at: Duration) -> Result<()> {
        let mut progress = self.progress();
        progress.seen.add(&page);
        progress.suspects.take(page.suspects, at);
        progress.parts[segment as usize] = page.next.map_or(Part::Done, |next| Part::At(Some(next)));
        let is_last = progress.parts.iter().all(|part| matches!(part, Part::Done));
        if is_last || progress.saved.elapsed() >= SAVED_EVERY {
            self.save(&mut progress)?;
        }
        Ok(())
    }

    fn save(&self, progress: &mut Progress) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let saved = json!({
            "about": self.about, "began": self.began, "seen": progress.seen.json(),
            "parts": progress.parts.iter().map(part).collect::<Vec<_>>(),
            "suspects": progress.suspects.iter().map(|suspect| line(&suspect.difference)).collect::<Vec<_>>(),
        });
        // A kill leaves the old file or the new one.
        replace(path, saved.to_string().as_bytes())
            .map_err(|error| anyhow!("the working file {} can't be written: {error}", path.display()))?;
        progress.saved = now();
        Ok(())
    }

    pub(super) fn found(&self) -> (Suspects, Seen) {
        let progress = self.progress();
        (progress.suspects.clone(), progress.seen.clone())
    }

    /// Removes the working file: the pass is done.
    pub(super) fn end(&self) {
        if let Some(path) = &self.path {
            // A file that stays belongs to a pass that is done, and has nothing left to compare.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Done => json!("done"),
        Part::At(None) => json!("begin"),
        Part::At(Some(Position { after, history })) => {
            let history =
                history.as_ref().map(|node| json!([node.id.as_str(), node.tenant.as_ref().map(Tenant::as_str)]));
            json!({"pk": after.pk, "sk": after.sk, "history": history})
        }
    }
}

fn read_part(value: &Value) -> Option<Part> {
    match value.as_str() {
        Some("done") => return Some(Part::Done),
        Some("begin") => return Some(Part::At(None)),
        _ => {}
    }
    let history = match &value["history"] {
        Value::Null => None,
        history => Some(node(history[0].as_str()?, history[1].as_str())?),
    };
    let after = ItemKey::new(value["pk"].as_str()?, value["sk"].as_str()?);
    Some(Part::At(Some(Position { after, history })))
}
