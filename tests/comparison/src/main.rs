//! Counts everything, prints it, and writes the tables of docs/decide/benchmarks.md and the plots of docs/plots:
//!
//! ```sh
//! cargo run -p sapwood-comparison --features plots                   # some minutes
//! COMPARISON=full cargo run -p sapwood-comparison --features plots
//! # Only this part, of: machine, counts, rightness, lag, growth, postgres, plots.
//! cargo run -p sapwood-comparison --features plots -- lag
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that can't go on should say so"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use sapwood_comparison::cases::{Scale, column};
use sapwood_comparison::document::{
    growth, has_part, lag, number, part, postgres as postgres_table, read, rightness, section, stored, times, with_part,
};
use sapwood_comparison::growth::{self as grown, Grown};
use sapwood_comparison::lag;
use sapwood_comparison::pattern::Pattern;
use sapwood_comparison::patterns::{Adjacency, Composite, Path as PathPattern, Replication, Sapwood};
use sapwood_comparison::plot::Plot;
use sapwood_comparison::postgres::postgres;
use sapwood_comparison::rightness::nested_moves;

/// The project's directory.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// How much later the second of two moves of Sapwood begins, at most: about as long as the first is handled.
const APART: Duration = Duration::from_millis(60);

/// How often two moves are made at once.
const RUNS: usize = 200;

/// The pattern to whose times the others' are ratios.
const TIMES_OF: &str = PathPattern::NAME;

/// The page, and how far the run goes.
struct Run {
    scale: Scale,
    is_full: bool,
    begun: Instant,
}

#[tokio::main]
#[allow(clippy::disallowed_methods, reason = "the edge, where the environment is read")]
async fn main() {
    let is_full = std::env::var("COMPARISON").is_ok_and(|scale| scale == "full");
    let seed = std::env::var("COMPARISON_SEED").map_or(1, |seed| seed.parse().unwrap());
    let scale = Scale {
        depths: vec![4, 64],
        subtrees: vec![10, 1_000],
        moved: if is_full { vec![10, 1_000, 10_000] } else { vec![10, 1_000] },
        imported: if is_full { 10_000 } else { 1_000 },
        seed,
    };
    let run = Run { scale, is_full, begun: Instant::now() };
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == part);
    if is_wanted("machine") {
        run.put("machine", &machine(is_full));
    }
    if is_wanted("counts") {
        run.counts().await;
    }
    if is_wanted("counts") || is_wanted("plots") {
        plot("creates", "Creating a node", "ancestors");
        plot("moves", "Moving a subtree", "nodes in the subtree");
    }
    if is_wanted("rightness") {
        run.rightness().await;
    }
    if is_wanted("lag") {
        run.lag().await;
    }
    if is_wanted("growth") {
        run.growth().await;
    }
    if is_wanted("postgres") {
        run.postgres();
    }
}

impl Run {
    /// Prints a part, and puts it into the page if that has it. Others may have changed the page meanwhile.
    fn put(&self, name: &str, text: &str) {
        let document = std::fs::read_to_string(page()).unwrap();
        if has_part(&document, name) {
            std::fs::write(page(), with_part(&document, name, text)).unwrap();
        }
        println!("{name}, after {:?}\n{text}", self.begun.elapsed());
    }

    async fn counts(&self) {
        let columns = [
            column::<Sapwood>(&self.scale).await,
            column::<Replication>(&self.scale).await,
            column::<PathPattern>(&self.scale).await,
            column::<Composite>(&self.scale).await,
            column::<Adjacency>(&self.scale).await,
        ];
        for (index, one) in columns[0].sections.iter().enumerate() {
            self.put(one.name, &section(&columns, index));
            if ["moves", "imports"].contains(&one.name) {
                self.put(&format!("times of {}", one.name), &times(&columns, index, TIMES_OF));
            }
        }
        self.put("stored", &stored(&columns, self.scale.imported));
    }

    async fn rightness(&self) {
        let seed = self.scale.seed;
        let found = [
            (Sapwood::NAME, nested_moves::<Sapwood>(RUNS, seed, APART).await),
            (Replication::NAME, nested_moves::<Replication>(RUNS, seed, Duration::ZERO).await),
            (PathPattern::NAME, nested_moves::<PathPattern>(RUNS, seed, Duration::ZERO).await),
            (Composite::NAME, nested_moves::<Composite>(RUNS, seed, Duration::ZERO).await),
            (Adjacency::NAME, nested_moves::<Adjacency>(RUNS, seed, Duration::ZERO).await),
        ];
        self.put("rightness", &rightness(&found, seed));
    }

    async fn lag(&self) {
        let writes = if self.is_full { 5_000 } else { 1_000 };
        self.put("lag", &lag(&[lag::lag(writes, 50).await, lag::lag(writes, 100).await]));
    }

    async fn growth(&self) {
        let (mut nodes, mut children) = (vec![1_000, 10_000], vec![10, 100, 1_000, 10_000]);
        if self.is_full {
            nodes.push(100_000);
            children.push(100_000);
        }
        let found = grown::growth(&nodes, &[2, 8, 32, 64], &children).await;
        self.put("growth", &growth(&found));
        plot_growth(&found);
    }

    fn postgres(&self) {
        match postgres() {
            Some(found) => self.put("postgres", &postgres_table(&found)),
            None => println!("PostgreSQL isn't installed: its table stays as it is"),
        }
    }
}

/// The machine's facts.
fn machine(is_full: bool) -> String {
    let says = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(ROOT).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let lock = std::fs::read_to_string(Path::new(ROOT).join("Cargo.lock")).unwrap();
    let version = |name: &str| {
        let after = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).unwrap().1;
        after.split_once('"').unwrap().0.to_owned()
    };
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let model =
        processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("", |m| m.1);
    format!(
        "The {} run of {}, commit {}: {} × {model}, {} {}, {}, dynoxide {} in memory, a build of the dev profile.",
        if is_full { "full" } else { "short" },
        says("date", &["-u", "+%F"]),
        says("git", &["rev-parse", "--short", "HEAD"]),
        std::thread::available_parallelism().unwrap(),
        says("uname", &["-s"]),
        says("uname", &["-r"]),
        says("rustc", &["--version"]),
        version("dynoxide-rs"),
    )
}

/// Draws the write units of a section that stands in the page.
fn plot(name: &str, title: &str, x: &str) {
    let document = std::fs::read_to_string(page()).unwrap();
    let (names, mut lines) = read(part(&document, name));
    lines.retain(|line| line.counted == "write units");
    let points = |column: usize| lines.iter().map(|line| (number(line.case), number(line.cells[column]))).collect();
    let lines = names.iter().enumerate().map(|(column, name)| (*name, points(column))).collect();
    Plot { title, x, y: "write units", linear_to: None, lines }.write(&plots().join(format!("{name}.svg")));
}

fn plot_growth(found: &[Grown]) {
    let points = |kind: &str| {
        let of_kind = found.iter().filter(|grown| grown.kind == kind);
        of_kind.map(|grown| (grown.size as f64, grown.write_units / grown.items as f64)).collect()
    };
    let lines = vec![
        ("nodes", points("nodes")),
        ("ancestors of each node", points("depth")),
        ("children of one node", points("children")),
    ];
    let (x, y) = ("nodes, ancestors or children", "write units for each item in the table");
    Plot { title: "What growing trees cost Sapwood", x, y, linear_to: Some(2.5), lines }
        .write(&plots().join("growth.svg"));
}

fn page() -> PathBuf {
    Path::new(ROOT).join("docs/decide/benchmarks.md")
}

fn plots() -> PathBuf {
    let directory = Path::new(ROOT).join("docs/plots");
    std::fs::create_dir_all(&directory).unwrap();
    directory
}
