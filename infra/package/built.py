"""template.yaml and samconfig.toml for functions that are built already.

The texts keep their comments: only what says how to build is replaced. The YAML parser says where that stands, and the result, read as SAM
reads it, is compared with what it must be.
"""

import re
import tomllib

import yaml
from samcli.yamlhelper import yaml_parse

HOW_TO_BUILD = ("BuildMethod", "BuildProperties")


class Unexpected(Exception):
    """A file isn't of the form that this script knows."""


class Text:
    """A YAML text, and replacements in it."""

    def __init__(self, text):
        self.text, self.root, self.replacements = text, yaml.compose(text), []

    def find(self, *names):
        """The key and the value at the end of a path, or None."""
        value = self.root
        for name in names:
            pairs = value.value if isinstance(value, yaml.MappingNode) else ()
            found = next((pair for pair in pairs if pair[0].value == name), None)
            if found is None:
                return None
            value = found[1]
        return found

    def replace(self, pair, value):
        """Gives a key another value, written on its line."""
        key, old = pair
        self.replacements.append((key.end_mark.index, end(old), f": {value}"))

    def remove(self, pair):
        """Removes the lines of a key and its value."""
        key, old = pair
        start = self.text.rindex("\n", 0, key.start_mark.index) + 1
        self.replacements.append((start, self.text.index("\n", end(old)) + 1, ""))

    def replaced(self):
        text = self.text
        for start, stop, new in sorted(self.replacements, reverse=True):
            text = text[:start] + new + text[stop:]
        return text


def end(node):
    """Where a value ends. The parser's own mark of a block is the beginning of what follows, comments included."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return node.end_mark.index
    last = node.value[-1]
    return end(last[1] if isinstance(last, tuple) else last)


def template(text, architecture):
    """The template's text, with an archive for each function instead of its source code; and the binaries by the functions' names."""
    wanted, edited, binaries = yaml_parse(text), Text(text), {}
    architectures = edited.find("Globals", "Function", "Architectures")
    if architectures is None:
        raise Unexpected("the template has no Globals.Function.Architectures")
    edited.replace(architectures, f"[{architecture}]")
    wanted["Globals"]["Function"]["Architectures"] = [architecture]
    for name, resource in wanted["Resources"].items():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        place, metadata = ("Resources", name), resource["Metadata"]
        binaries[name] = metadata["BuildProperties"]["Binary"]
        archive = f"{binaries[name]}.zip"
        edited.replace(edited.find(*place, "Properties", "CodeUri"), archive)
        resource["Properties"]["CodeUri"] = archive
        for key in HOW_TO_BUILD:
            del metadata[key]
        if metadata:
            for key in HOW_TO_BUILD:
                edited.remove(edited.find(*place, "Metadata", key))
        else:
            edited.remove(edited.find(*place, "Metadata"))
            del resource["Metadata"]
    replaced = edited.replaced()
    if yaml_parse(replaced) != wanted:
        raise Unexpected("the template is written in a way in which its functions can't be replaced")
    return replaced, binaries


def configuration(text):
    """The text of samconfig.toml without its sections on building. A section, with its comment, is a paragraph."""
    wanted = tomllib.loads(text)
    for stage in wanted.values():
        if isinstance(stage, dict):
            stage.pop("build", None)
    paragraphs = [part for part in text.split("\n\n") if not re.search(r"^\[\w+\.build\.", part, re.MULTILINE)]
    kept = "\n\n".join(paragraphs).replace("`sam build && sam deploy`", "`sam deploy`")
    if tomllib.loads(kept) != wanted:
        raise Unexpected("the sections of samconfig.toml aren't paragraphs")
    return kept.rstrip() + "\n"
