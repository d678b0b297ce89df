//! How fast nodes flow through a table: as fast as its hottest partition lets them. Between two events (a split, other
//! nodes) all rates are constant, so the model goes from event to event.

use crate::table::{Partitions, Place, place_of};
use crate::work::Work;

/// The most parts of the work whose nodes are looked at apart, and the most nodes that stand for all of a part.
const PARTS: u64 = 100;
const SAMPLE: u64 = 1_000;

/// The table and the handler.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The partitions at the beginning.
    pub partitions: Partitions,
    /// The write units a second of a partition.
    pub partition_units: f64,
    /// The write units a second of the table.
    pub table_units: f64,
    /// After how many seconds a hot partition is split.
    pub split_after: f64,
    /// The nodes that a batch has, divided by the seconds that it takes.
    pub lane_nodes: f64,
    /// The batches of one shard that are handled at once.
    pub factor: f64,
    /// The nodes that are under way at once, lanes × batch. Those that wait for one partition hold up nobody among
    /// them.
    pub under_way: u64,
    /// The base records a second that clients write. Without a number they write as `sapwood import` does: when parents
    /// are placed.
    pub clients: Option<f64>,
    /// The age in seconds at which a record is discarded.
    pub age_max: f64,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            partitions: Partitions::even(4),
            partition_units: 1_000.0,
            table_units: 40_000.0,
            split_after: f64::INFINITY,
            lane_nodes: 400.0,
            factor: 2.0,
            under_way: 800,
            clients: None,
            age_max: 6.0 * 3_600.0,
        }
    }
}

/// What became of the work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// The seconds until all is done.
    pub seconds: f64,
    /// The nodes a second in the last part of the work.
    pub last: f64,
    /// The age of the oldest record that was handled, in seconds.
    pub behind: f64,
    /// The nodes whose records were discarded.
    pub discarded: f64,
    /// The partitions at the end.
    pub partitions: usize,
}

/// The places of the writes of one part of the work, sorted, and how much of a write each stands for, a node.
struct Part {
    number: u64,
    all: u64,
    clients: Vec<Place>,
    handler: Vec<Place>,
    each: f64,
}

impl Part {
    fn of(work: &Work, number: u64, all: u64) -> Self {
        let sample = SAMPLE.min(work.nodes.div_ceil(all));
        let (mut clients, mut handler) = (Vec::new(), Vec::new());
        for n in 0..sample {
            let position = (number as f64 + (n as f64 + 0.5) / sample as f64) / all as f64 * work.nodes as f64;
            let writes = work.writes(work.at((position as u64).min(work.nodes - 1)));
            clients.extend(writes.clients.iter().map(place_of));
            handler.extend(writes.handler.iter().map(place_of));
        }
        clients.sort_unstable();
        handler.sort_unstable();
        Self { number, all, clients, handler, each: 1.0 / sample as f64 }
    }

    /// Goes on to the part that has so much of the work done.
    fn reach(&mut self, work: &Work, done: f64) {
        let number = ((done / work.nodes as f64 * self.all as f64 + 1e-9) as u64).min(self.all - 1);
        if number != self.number {
            *self = Self::of(work, number, self.all);
        }
    }

    /// The nodes that are done at the end of the part.
    fn end(&self, work: &Work) -> f64 {
        (self.number + 1) as f64 / self.all as f64 * work.nodes as f64
    }

    /// The units of each partition that a node takes.
    fn loads(&self, partitions: &Partitions, places: &[Place]) -> Vec<f64> {
        partitions.counts(places).into_iter().map(|count| count as f64 * self.each).collect()
    }
}

/// The most nodes a second so that no partition gives more than it has, and the table neither. `taken` is what it gives
/// to others.
fn most(setting: &Setting, loads: &[f64], taken: &[f64]) -> f64 {
    let all = (setting.table_units - taken.iter().sum::<f64>()) / loads.iter().sum::<f64>();
    let each = loads.iter().zip(taken).filter(|(load, _)| **load > 0.0);
    each.map(|(load, taken)| (setting.partition_units - taken) / load).fold(all, f64::min).max(0.0)
}

/// Runs the work through the table.
#[must_use]
pub fn run(work: &Work, setting: &Setting) -> Flow {
    let mut partitions = setting.partitions.clone();
    let (nodes, enough) = (work.nodes as f64, work.nodes as f64 * 1e-9 + 1e-6);
    let (mut now, mut written, mut handled) = (0.0, 0.0, 0.0);
    let parts = (work.nodes / setting.under_way).clamp(1, PARTS);
    let [mut front, mut back] = [Part::of(work, 0, parts), Part::of(work, 0, parts)];
    let mut flow = Flow { seconds: 0.0, last: 0.0, behind: 0.0, discarded: 0.0, partitions: 0 };
    // When so many base records were written, and how fast from then on. The oldest that isn't handled is in the first
    // line.
    let mut history = std::collections::VecDeque::from([(0.0, 0.0, 0.0_f64)]);
    while handled < nodes - enough {
        front.reach(work, written);
        back.reach(work, handled);
        let client_loads = front.loads(&partitions, &front.clients);
        let loads = back.loads(&partitions, &back.handler);
        let none = vec![0.0; loads.len()];
        // Every record of a shard goes through its lanes. A shard has the records of a partition, so that of most base
        // records is the first to be full.
        let records = if work.change == crate::work::Change::Create { &client_loads } else { &loads };
        let fullest = records.iter().fold(0.0_f64, |most, load| most.max(load / records.iter().sum::<f64>()));
        let lanes = setting.lane_nodes * setting.factor / fullest;
        let (clients, handler) = match setting.clients {
            None => {
                let both: Vec<f64> = client_loads.iter().zip(&loads).map(|(a, b)| a + b).collect();
                let rate = most(setting, &both, &none).min(lanes);
                (rate, rate)
            }
            Some(rate) => {
                let rate = if written < nodes - enough { most(setting, &client_loads, &none).min(rate) } else { 0.0 };
                let taken: Vec<f64> = client_loads.iter().map(|load| load * rate).collect();
                let handler = most(setting, &loads, &taken).min(lanes);
                (rate, if written - handled < enough { handler.min(rate) } else { handler })
            }
        };
        // The age of the oldest record, and how fast the records were written that are handled now.
        if history.back().is_some_and(|(_, _, rate)| (rate - clients).abs() > 1e-9) {
            history.push_back((now, written, clients));
        }
        while history.get(1).is_some_and(|(_, from, _)| *from <= handled + enough) {
            history.pop_front();
        }
        let (since, from, rate) = history[0];
        let age = if setting.clients.is_some() && rate > 0.0 { now - since - (handled - from) / rate } else { 0.0 };
        flow.behind = flow.behind.max(age.min(setting.age_max));
        let is_late = age >= setting.age_max - 1e-6 && rate > handler;
        let pace = if is_late { rate } else { handler };

        let shares: Vec<f64> = client_loads
            .iter()
            .zip(&loads)
            .map(|(a, b)| (a * clients + b * handler) / setting.partition_units)
            .collect();
        partitions.note_heat(&shares, now);
        let until = |left: f64, rate: f64| if rate > 0.0 { left / rate } else { f64::INFINITY };
        let ageing = 1.0 - until(handler, rate).min(1.0);
        let mut step = until(front.end(work) - written, if written < nodes - enough { clients } else { 0.0 })
            .min(until(back.end(work) - handled, pace))
            .min(partitions.next_split(setting.split_after) - now);
        if let Some((_, from, _)) = history.get(1) {
            step = step.min(until(from - handled, pace));
        }
        if setting.clients.is_some() && !is_late && ageing > 0.0 {
            step = step.min(until(setting.age_max - age, ageing));
        }
        assert!(step.is_finite(), "nothing flows any more: {now} s, {written} written, {handled} handled");
        let step = step.max(1e-6);
        now += step;
        written = (written + clients * step).min(nodes);
        handled = (handled + pace * step).min(nodes);
        flow.discarded += (pace - handler) * step;
        flow.last = handler;
        let places = if loads.iter().sum::<f64>() > 0.0 { &back.handler } else { &front.clients };
        if partitions.next_split(setting.split_after) <= now + 1e-6 {
            partitions.split(setting.split_after, now, places);
        }
    }
    Flow { seconds: now, partitions: partitions.count(), ..flow }
}
