"""The pages of the site: which files become pages and where, and what is changed in their Markdown."""

import os
import re
from pathlib import Path

from output import address

ROOT = Path(__file__).resolve().parents[2]
# Pages from outside of docs/, and where each is on the site.
OTHERS = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "internals/architecture.md",
    "CHANGELOG.md": "decide/changelog.md",
    "CONTRIBUTING.md": "internals/contributing.md",
    "SECURITY.md": "decide/security.md",
    "SUPPORT.md": "decide/support.md",
    "examples/knowledge-base/README.md": "examples/knowledge-base.md",
    "examples/python/README.md": "examples/python.md",
    "tests/proof/rates.md": "internals/protocol/rates.md",
}
# Files of docs/ that browsers show by themselves. Any other file that a page links to becomes a page of code.
SHOWN = (".json", ".png", ".svg")
# The most characters that search engines show of a description.
DESCRIPTION_CHARACTERS = 160
LINK = re.compile(r"(\]\(|^\[[^\]]+\]: |(?:href|src|srcset)=\")([^)\s\"]+)", re.MULTILINE)
LABEL = re.compile(r"\*\*([^*]+)\*\*(?: \(([^)]+)\))?:?$")


def place(source):
    """Where a Markdown file of the project is on the site; None if it isn't a page there."""
    if source in OTHERS:
        return OTHERS[source]
    if source.startswith("docs/") and source.endswith(".md"):
        return re.sub(r"README\.md$", "index.md", source.removeprefix("docs/"))
    return None


def parts(text):
    """The parts of a text, in order: `(True, block of code)` and `(False, text between)`. Each is a list of lines."""
    found, lines, fence = [], [], None
    for line in text.split("\n"):
        opens = re.match(r"\s*(```+)", line)
        if fence is None and opens:
            found.append((False, lines))
            lines, fence = [line], opens[1]
        elif fence and line.strip() == fence:
            found.append((True, [*lines, line]))
            lines, fence = [], None
        else:
            lines.append(line)
    return [*found, (False, lines)]


def outside_of_code(text, change):
    """A text with a change made to what isn't code, neither in blocks nor between backticks."""

    def prose(lines):
        words = re.split(r"(`+[^`]+`+)", "\n".join(lines))
        return "".join(word if at % 2 else change(word) for at, word in enumerate(words))

    return "\n".join("\n".join(lines) if is_code else prose(lines) for is_code, lines in parts(text) if lines)


def indented(text):
    """A text whose lists Python-Markdown understands: what belongs to an item is indented by four columns, not by two or three."""
    lines, width, is_code = [], 0, False
    for line in text.split("\n"):
        item = None if is_code else re.match(r"(\d+\. |[-*] )", line)
        if item:
            width = len(item[1])
        elif line.strip() and not line.startswith(" " * width):
            width = 0
        is_code ^= line.lstrip().startswith("```")
        lines.append(" " * (4 - width) + line if width and not item and line.strip() else line)
    return "\n".join(lines)


def tabbed(text):
    """A text whose blocks of code that follow one another, each below its language in bold, are tabs."""
    all_parts, lines, at = parts(text), [], 0

    def labelled(at):
        """The label of the block at this part, and the text before the label."""
        if at + 1 >= len(all_parts) or all_parts[at][0] or not all_parts[at + 1][0]:
            return None
        before = [*all_parts[at][1]]
        while before and not before[-1].strip():
            before.pop()
        label = LABEL.match(before[-1]) if before else None
        return label and (label, before[:-1])

    while at < len(all_parts):
        run = []
        while (found := labelled(at + 2 * len(run))) and not (run and "".join(found[1]).strip()):
            run.append((found, all_parts[at + 2 * len(run) + 1][1]))
        if len(run) < 2:
            lines += all_parts[at][1]
            at += 1
            continue
        lines += run[0][0][1]
        for (label, _), block in run:
            lines += ["", f'=== "{label[1]}"', ""]
            lines += [f"    {label[2]}:", ""] if label[2] else []
            lines += ["    " + line if line else "" for line in block]
        lines.append("")
        at += 2 * len(run)
    return "\n".join(lines)


def title(text):
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1].replace("`", "")


def plain(text):
    """Text without its markup."""
    text = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])?", r"\1", text)
    return re.sub(r"<[^>]+>|\*\*|`|(?<!\w)\*|\*(?!\w)", "", text)


def description(text):
    """The first sentences of a page, as many as search engines show."""
    body = "\n".join("\n".join(lines) for is_code, lines in parts(text) if not is_code)
    paragraphs = [part for part in body.split("\n\n") if re.match(r"\s*[\w`*\[]", part)]
    words = plain(" ".join(" ".join(paragraphs[:1]).split()))
    said = ""
    for sentence in re.split(r"(?<=[.?!]) ", words):
        if said and len(said) + 1 + len(sentence) > DESCRIPTION_CHARACTERS:
            break
        said = f"{said} {sentence}".strip()
    return said if len(said) <= DESCRIPTION_CHARACTERS else said[: DESCRIPTION_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"


class Pages:
    """Gathers the pages: `texts`, by their place on the site, and `files`, which are copied. Links begin at the page, or at the site's `root`."""

    def __init__(self, root=None):
        self.texts, self.files, self.wrong, self.root = {}, {}, [], root
        sources = [*OTHERS, *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]
        for source in sources:
            self.texts[place(source)] = self.page(source)

    def page(self, source):
        text = (ROOT / source).read_text()
        here = place(source)
        return outside_of_code(text, lambda words: LINK.sub(lambda link: link[1] + self.target(source, here, link[2]), words))

    def target(self, source, here, link):
        """What a link of a file leads to on the site."""
        if "://" in link or link.startswith(("#", "mailto:")):
            return link
        path, mark, anchor = link.partition("#")
        wanted = os.path.normpath(os.path.join(os.path.dirname(source), path))
        if not (ROOT / wanted).exists():
            self.wrong.append(f"{source}: {link} leads to no file")
            return link
        there = place(wanted) or self.file(wanted)
        if self.root:
            return self.root + (address(there) if there.endswith(".md") else there) + mark + anchor
        return os.path.relpath(there, os.path.dirname(here) or ".") + mark + anchor

    def file(self, source):
        """Where a file that is no page itself is shown."""
        path = ROOT / source
        if source.startswith("docs/") and source.endswith(SHOWN):
            there = source.removeprefix("docs/")
            self.files[there] = path
        elif path.is_dir():
            there = f"files/{source}/index.md"
            listed = sorted(f"{source}/{name.name}" for name in path.iterdir() if name.is_file())
            links = [f"- [{os.path.basename(name)}]({self.target(f'{source}/index.md', there, os.path.basename(name))})" for name in listed]
            self.texts[there] = f"# {source}\n\nThe files of `{source}`.\n\n" + "\n".join(links)
        else:
            there = f"files/{source}.md"
            code = path.read_text().rstrip("\n")
            language = path.suffix.removeprefix(".").replace("env", "sh")
            fence = "`" * max(4, 1 + max(map(len, re.findall("`+", code)), default=0))
            self.texts[there] = f"# {source}\n\nThe file `{source}` of Sapwood's sources.\n\n{fence}{language}\n{code}\n{fence}\n"
        return there
