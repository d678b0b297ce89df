"""What is measured. Each case builds its tree in a peer that has just started, asks, and judges every answer by what it knows of the tree."""

from dataclasses import dataclass

from peer import Refused

# A chain is longer than any peer goes by its defaults.
CHAIN_LEVELS = 120


@dataclass
class Depth:
    """To which depth all answers were right, where the folder is granted (`yes`) and where it isn't (`no`). `then` tells what comes below:
    "refused" questions, "wrong" answers, folders that are "not made", or nothing."""

    yes: int
    no: int
    then: str | None


def depth(peer):
    """A chain below a grant. Two principals are asked for at each folder: the one with that grant, and one with a grant elsewhere."""
    levels = [f"c{level}" for level in range(CHAIN_LEVELS + 1)]
    peer.load([(levels[0], None), ("elsewhere", None)])
    made = 0
    try:
        for level in range(CHAIN_LEVELS):
            peer.load([(levels[level + 1], levels[level])])
            made += 1
    except Refused:
        pass
    peer.grant(levels[0], "ada")
    peer.grant("elsewhere", "eve")
    peer.settle()

    def asked(folder, principal, granted):
        try:
            return "right" if peer.check(folder, principal) == granted else "wrong"
        except Refused:
            return "refused"

    def right_to(principal, granted):
        answers = [asked(folder, principal, granted) for folder in levels[1 : made + 1]] + ["not made"] * (CHAIN_LEVELS - made)
        depth = next((at for at, answer in enumerate(answers) if answer != "right"), CHAIN_LEVELS)
        return depth, set(answers[depth:])

    (yes, then), (no, then_too) = right_to("ada", True), right_to("eve", False)
    if len(then) > 1 or then != then_too:
        raise RuntimeError(f"{peer.name} answers too deep a question now in one way and now in another: {then}, {then_too}")
    return Depth(yes, no, *(then or {None}))


@dataclass
class Listed:
    """How many of the folders a list names, of how many, by how many requests."""

    named: int
    of: int
    requests: int


def grown():
    """A folder with 9,999 below it, in two levels."""
    teams = [(f"t{team}", "top") for team in range(99)]
    return [("top", None), *teams, *[(f"{team}-{folder}", team) for team, _ in teams for folder in range(100)]]


def lists(peer, ways):
    """The folders that somebody may see by one grant: 10,000. `ways` are functions of the peer's class that list them, by their names."""
    folders = grown()
    peer.load(folders)
    peer.grant("top", "ada")
    peer.settle()
    return {name: listed(peer, way, {folder for folder, _ in folders}) for name, way in ways.items()}


def listed(peer, way, folders):
    before = peer.requests
    named = way(peer, "ada")
    if len(set(named)) != len(named) or not set(named) <= folders:
        raise RuntimeError(f"{peer.name} lists folders twice, or others")
    return Listed(len(named), len(folders), peer.requests - before)


@dataclass
class Moved:
    """What a share and a move of a folder with 1,000 below it write, and from when on answers are right."""

    share_writes: int
    move_writes: int
    # True if every answer that was asked for right after the move was acknowledged had it: asked plainly, and asked for a fresh answer.
    checks: bool
    checks_fresh: bool
    lists: bool
    lists_fresh: bool


COMPANY = [("company", None), ("sales", "company"), ("legal", "company"), ("offers", "sales")]
YEARS = [(f"y{year}", "offers") for year in range(10)]
BELOW = [*YEARS, *[(f"{year}-{offer}", year) for year, _ in YEARS for offer in range(99)]]
SUBTREE = ["offers", *[folder for folder, _ in BELOW]]
VIEWERS = {"sales": "grace", "legal": "lin"}


def moves(peer):
    """Two teams, each with a grant on its folder. The folder `offers` of one goes to the other and back, and each time one thing is asked."""
    peer.load([*COMPANY, *BELOW])
    for team, viewer in VIEWERS.items():
        peer.grant(team, viewer)
    peer.settle()
    share_writes = writes(peer, lambda: peer.grant("offers", "eve"))
    move_writes = writes(peer, lambda: peer.move("offers", "sales", "legal"))
    right = {}
    for asked, fresh, old, new in (
        (checks_right, False, "legal", "sales"),
        (checks_right, True, "sales", "legal"),
        (lists_right, False, "legal", "sales"),
        (lists_right, True, "sales", "legal"),
    ):
        peer.move("offers", old, new)
        right[asked, fresh] = asked(peer, new, fresh)
        peer.settle()
        if not lists_right(peer, new, False):
            raise RuntimeError(f"{peer.name} isn't right after it has come to rest")
    return Moved(share_writes, move_writes, *(right[asked, fresh] for asked in (checks_right, lists_right) for fresh in (False, True)))


def writes(peer, act):
    before = peer.written()
    act()
    peer.settle()
    return peer.written() - before


def checks_right(peer, team, fresh):
    """True if whoever has the team's grant may see `offers` and all below it, and the other one none of it."""
    return all([peer.check(folder, viewer, fresh) == (team == at) for folder in SUBTREE for at, viewer in VIEWERS.items()])


def lists_right(peer, team, fresh):
    expected = {at: {at, *SUBTREE} if at == team else {at} for at in VIEWERS}
    return all([set(peer.list(VIEWERS[at], fresh)) == expected[at] for at in VIEWERS])
