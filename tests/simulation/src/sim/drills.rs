//! Short sequences of writes that are known to be hard if they meet at the wrong moments. Random ones contain them too
//! seldom.

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use sapwood_core::model::{AttributeValue, DeletionMode, text};

use super::copies;
use super::names;
use super::requests::Asked;
use super::writers::{BaseWrite, Plan};
use super::{subtrees, totals, trash};

/// A sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drill {
    /// A parent is moved or renamed and changed back, while a child comes in.
    ThereAndBack,
    /// A child comes in at the same time as its parent is changed, and the parent is changed back.
    Together,
    /// A parent of several children is moved there and back.
    Twice,
    /// The newest revision of a topic goes, while the second newest is amended or goes as well.
    NewestTwo,
    /// A node comes in below another one that has just been deleted, and its heir is moved below the newcomer.
    HeirBelowLateChild,
    /// A node is deleted with its children, both are created again, and the node goes once more, without a mark.
    TwoLives,
    /// Another client takes a mark back, something comes in, and the node is marked again.
    MarkAgain,
    /// A child of a node that is being deleted is moved away, or changed.
    ChildLeaves,
    /// A parent goes before anybody has placed it, and a child has come in below it.
    BriefParent,
    /// The answer to the creation of a node is lost, and the node is deleted and one above it is put below what was its
    /// child.
    LostCreation,
    /// Another client moves a node of the API's away, and back once its parent is deleted.
    AwayAndBack,
    /// A subtree is deleted, and its records are put back, in any order.
    SubtreeBack,
    /// A node is deleted without children, then its parent with all that is below; both are put back.
    LeafBack,
    /// Nodes that an import has put are moved once, deleted, and put back.
    ImportedBack,
    /// A root is put into the trash and taken out again, while a child comes in.
    TrashAndBack,
    /// A root is put into the trash, while another node is moved below it.
    TrashedAbove,
    /// Another client takes a node out of the trash, and makes it a root later.
    TakenOut,
    /// Another client takes a node out of the trash, and makes a cycle of it.
    TrashedCycle,
    /// Two take over the name of a node that another client has renamed or moved away, and that may come back.
    NameTakenOver,
    /// A node is copied, its copy deleted, and the node moves to where the copy has yet to come.
    CopyMovedOn,
    /// A subtree is copied, while the top of the copy, or what is below it, is deleted or changed.
    CopyUnderWay,
    /// A subtree is copied whose nodes have names, while nodes of the same names come in below the copy.
    CopyNamed,
    /// A node's number changes and changes back, or the node moves away and back.
    CountedThereAndBack,
    /// A node comes and goes, perhaps more than once.
    ComeAndGone,
    /// Nodes that another client has put are deleted as ones without children, while the API puts some below them.
    ChildlessOfOthers,
    /// A subtree moves up or down a level within its tree, while followers list it.
    AnotherDepth,
    /// A node goes, and comes back in another tree.
    GoneElsewhere,
}

impl Drill {
    /// All sequences.
    pub const ALL: [Self; 27] = [
        Self::ThereAndBack,
        Self::Together,
        Self::Twice,
        Self::NewestTwo,
        Self::HeirBelowLateChild,
        Self::TwoLives,
        Self::MarkAgain,
        Self::ChildLeaves,
        Self::BriefParent,
        Self::LostCreation,
        Self::AwayAndBack,
        Self::SubtreeBack,
        Self::LeafBack,
        Self::ImportedBack,
        Self::TrashAndBack,
        Self::TrashedAbove,
        Self::TakenOut,
        Self::TrashedCycle,
        Self::NameTakenOver,
        Self::CopyMovedOn,
        Self::CopyUnderWay,
        Self::CopyNamed,
        Self::CountedThereAndBack,
        Self::ComeAndGone,
        Self::ChildlessOfOthers,
        Self::AnotherDepth,
        Self::GoneElsewhere,
    ];
}

/// Draws a sequence, and changes it a little: a write is left out, or trades places with the next.
pub(super) fn script(rng: &mut SmallRng, drill: Drill) -> Plan {
    let (settled, mut rest) = match drill {
        Drill::ThereAndBack => there_and_back(rng),
        Drill::Together => together(rng),
        Drill::Twice => twice(rng),
        Drill::NewestTwo => newest_two(rng),
        Drill::HeirBelowLateChild => heir_below_late_child(),
        Drill::TwoLives => two_lives(),
        Drill::MarkAgain => mark_again(rng),
        Drill::ChildLeaves => child_leaves(rng),
        Drill::BriefParent => brief_parent(rng),
        Drill::LostCreation => lost_creation(),
        Drill::AwayAndBack => copies::there_and_back(rng),
        Drill::SubtreeBack => copies::subtree(rng),
        Drill::LeafBack => copies::leaf_first(rng),
        Drill::ImportedBack => copies::imported(rng),
        Drill::TrashAndBack => trash::and_back(rng),
        Drill::TrashedAbove => trash::above(rng),
        Drill::TakenOut => trash::taken_out(rng),
        Drill::TrashedCycle => trash::cycle(rng),
        Drill::NameTakenOver => names::taken_over(rng),
        Drill::CopyMovedOn => subtrees::moved_on(rng),
        Drill::CopyUnderWay => subtrees::under_way(rng),
        Drill::CopyNamed => subtrees::same_names(rng),
        Drill::CountedThereAndBack => totals::there_and_back(rng),
        Drill::ComeAndGone => totals::come_and_gone(rng),
        Drill::ChildlessOfOthers => childless_of_others(rng),
        Drill::AnotherDepth => another_depth(rng),
        Drill::GoneElsewhere => gone_elsewhere(rng),
    };
    for position in (1..rest.len()).rev() {
        match rng.random_range(0..12) {
            0 => drop(rest.remove(position)),
            1 => rest.swap(position - 1, position),
            _ => {}
        }
    }
    Plan { settled, rest: rest.into() }
}

fn make(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) }
}

fn plain(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Plain { id: id.to_owned(), parent: parent.map(str::to_owned) }
}

fn set(id: &str, attribute: &'static str, value: Option<AttributeValue>) -> BaseWrite {
    BaseWrite::Set { id: id.to_owned(), attribute, value }
}

fn revise(id: &str, version: u32, text: u32) -> BaseWrite {
    BaseWrite::Revise { id: id.to_owned(), version, topic: "Audit", text }
}

fn create(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Ask(Asked::Create { id: id.to_owned(), parent: parent.map(str::to_owned), made: false })
}

fn move_to(id: &str, parent: &str) -> BaseWrite {
    BaseWrite::Ask(Asked::Move { id: id.to_owned(), parent: Some(parent.to_owned()) })
}

fn delete(id: &str, mode: DeletionMode, revisions: bool) -> BaseWrite {
    BaseWrite::Ask(Asked::Delete { id: id.to_owned(), mode: Some(mode), revisions })
}

fn any_mode(rng: &mut SmallRng) -> DeletionMode {
    *[DeletionMode::Delete, DeletionMode::Adopt, DeletionMode::Detach].choose(rng).unwrap()
}

fn there_and_back(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let mut settled = vec![plain("x", None), plain("y", None), plain("p", Some("x"))];
    settled.push(plain("c", ["x", "p"].choose(rng).copied()));
    settled.extend(["d", "e", "f"].iter().take(rng.random_range(0..=3)).map(|id| plain(id, Some("p"))));
    let (there, back) = change(rng);
    let comes_in = set("c", "parent", Some(text("p")));
    let mut rest = if rng.random_bool(0.5) { vec![there, comes_in, back] } else { vec![comes_in, there, back] };
    if rng.random_bool(0.3) {
        rest.push(set("p", "segment", Some(text("t"))));
    }
    (settled, rest)
}

fn together(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![plain("x", None), plain("y", None), plain("p", Some("x")), plain("c", Some("x"))];
    let (there, back) = change(rng);
    let comes_in = set("c", "parent", Some(text("p")));
    (settled, vec![BaseWrite::Together(vec![comes_in, there]), back])
}

fn twice(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let mut settled = vec![plain("x", None), plain("y", None), plain("p", Some("x"))];
    settled.extend(["c", "d", "e"].iter().take(rng.random_range(2..=3)).map(|id| plain(id, Some("p"))));
    (settled, ["y", "x"].map(|parent| set("p", "parent", Some(text(parent)))).into())
}

/// A change of `p`, and the change back.
fn change(rng: &mut SmallRng) -> (BaseWrite, BaseWrite) {
    if rng.random_bool(0.5) {
        (set("p", "parent", Some(text("y"))), set("p", "parent", Some(text("x"))))
    } else {
        (set("p", "segment", Some(text("s"))), set("p", "segment", None))
    }
}

fn newest_two(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = (1..=3).map(|version| revise("a", version, 0)).collect();
    let remove = |version| BaseWrite::Unrevise { id: "a".to_owned(), version, topic: "Audit" };
    let second = if rng.random_bool(0.5) { revise("a", 2, 1) } else { remove(2) };
    (settled, vec![remove(3), second])
}

fn another_depth(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    // What a listing has between the two levels of the node gives the move time.
    let mut settled = vec![plain("r", None), plain("a", Some("r")), plain("b", Some("a")), plain("c", Some("b"))];
    settled.extend(["x", "y", "z"].iter().take(rng.random_range(1..=3)).map(|id| plain(id, Some("a"))));
    (settled, ["r", "a"].map(|parent| set("b", "parent", Some(text(parent)))).into())
}

fn gone_elsewhere(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let gone = || BaseWrite::Delete { id: "n".to_owned() };
    let mut rest = vec![gone(), plain("n", Some("s"))];
    if rng.random_bool(0.3) {
        rest.extend([gone(), plain("n", Some("r"))]);
    }
    (vec![plain("r", None), plain("s", None), plain("n", Some("r"))], rest)
}

fn heir_below_late_child() -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("p", None), make("n", Some("p"))];
    let rest = vec![delete("n", DeletionMode::Adopt, false), make("c", Some("n")), move_to("p", "c")];
    (settled, rest)
}

fn brief_parent(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("x", None)];
    let comes = vec![make("p", Some("x")), make("c", Some("p"))];
    let goes = BaseWrite::Delete { id: "p".to_owned() };
    let mut rest = if rng.random_bool(0.5) { vec![BaseWrite::Together(comes)] } else { comes };
    rest.push(goes);
    (settled, rest)
}

fn lost_creation() -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let gone = BaseWrite::Ask(Asked::Delete { id: "n".to_owned(), mode: None, revisions: false });
    (vec![make("x", None)], vec![create("n", Some("x")), create("k", Some("n")), gone, move_to("x", "k")])
}

fn two_lives() -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("a", None), make("b", Some("a"))];
    let gone = BaseWrite::Delete { id: "a".to_owned() };
    let rest = vec![delete("a", DeletionMode::Delete, false), create("a", None), create("b", Some("a")), gone];
    (settled, rest)
}

fn mark_again(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let mut settled = vec![plain("a", None), plain("b", Some("a"))];
    // While another child isn't marked yet, the deletion comes back to the first.
    settled.extend(["c", "d"].iter().take(rng.random_range(0..=2)).map(|id| plain(id, Some("a"))));
    let marked = *["a", "b"].choose(rng).unwrap();
    settled.extend((2..=4).map(|version| revise(marked, version, 0)));
    let deletion = || delete("a", DeletionMode::Delete, true);
    let mut rest = vec![deletion(), set(marked, "_deleting", None), revise(marked, 1, 1)];
    if marked == "a" || rng.random_bool(0.3) {
        rest.push(deletion());
    }
    (settled, rest)
}

fn child_leaves(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled =
        vec![make("r", None), make("q", None), make("n", Some("r")), make("c", Some("n")), make("d", Some("n"))];
    let leaves = match rng.random_range(0..4) {
        0 => set("c", "parent", Some(text("q"))),
        1 => BaseWrite::Ask(Asked::Rename { id: "c".to_owned(), name: 1 }),
        _ => move_to("c", "q"),
    };
    (settled, vec![delete("n", any_mode(rng), false), leaves])
}

fn childless_of_others(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let put = |id: &str, parent: Option<&str>| BaseWrite::Put {
        id: id.to_owned(),
        parent: parent.map(text),
        segment: None,
        name: 0,
    };
    let gone = |id: &str| BaseWrite::Ask(Asked::Delete { id: id.to_owned(), mode: None, revisions: false });
    let mut settled = vec![make("g", None)];
    let rest = match rng.random_range(0..6) {
        // Its id comes back, and goes again.
        0 => vec![put("p", Some("g")), create("c", Some("p")), gone("p"), create("p", Some("g")), gone("p")],
        // An operation deletes it.
        1 => vec![put("p", Some("g")), create("c", Some("p")), delete("p", any_mode(rng), false)],
        // It is the heir.
        2 => vec![put("h", Some("g")), create("p", Some("h")), create("c", Some("p")), gone("p"), gone("h")],
        // Its record can't be understood.
        3 => {
            settled.push(make("p", Some("g")));
            vec![create("c", Some("p")), set("p", "segment", Some(AttributeValue::Bool(true))), gone("p")]
        }
        // The child was another client's, and deleted before.
        4 => {
            settled.extend([put("c", Some("g")), make("p", Some("g"))]);
            vec![gone("c"), put("c", Some("g")), move_to("c", "p"), gone("p")]
        }
        // Lives of the API's, of every kind.
        _ => {
            settled.push(make("p", Some("g")));
            let end = |rng: &mut SmallRng| {
                if rng.random_bool(0.6) { gone("p") } else { delete("p", any_mode(rng), false) }
            };
            let first = end(rng);
            let second = end(rng);
            let third = end(rng);
            vec![
                create("c", Some("p")),
                first,
                create("p", Some("g")),
                create("d", Some("p")),
                second,
                create("p", Some("g")),
                third,
            ]
        }
    };
    (settled, rest)
}
