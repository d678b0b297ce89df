#!/usr/bin/env python3
"""Makes what the site of the documentation is built of, and checks what is built.

    python infra/site pages     writes target/site-build, which the site is built of
    python infra/site finish    moves what was built to target/site, adds llms.txt and llms-full.txt, and checks each page

`.ci/site` calls both. A page gets its description, its links lead to pages of the site, and examples in several languages become tabs. The script
needs Python 3.11 with Zensical's modules.
"""

import json
import os
import shutil
import sys

import output
import yaml
from pages import ROOT, Pages, description, indented, tabbed, title

BUILD, SITE = ROOT / "target/site-build", ROOT / "target/site"
SETTINGS = ROOT / "infra/site/mkdocs.yml"
# `.ci/playground build` makes it. Without it the site has none. SITE_PLAYGROUND is another place of it.
PLAYGROUND = ROOT / os.environ.get("SITE_PLAYGROUND", "target/playground/index.html")
API_PAGE = ROOT / "shared/api/src/contract/docs.html"
HOME = "Trees and version history in one DynamoDB table"
HTTP_API = """# HTTP API

Every call of the API, from [its OpenAPI document](../openapi.json). [The reference](../api.html) has parameters, bodies, answers and examples.
A deployed API serves both, at `/openapi.json` and `/docs`. [HTTP conventions](http-conventions.md) has what all calls share.
"""


def http_api():
    """The page of all calls. Each leads to its place on the page that reads the OpenAPI document."""
    api = json.loads((ROOT / "docs/openapi.json").read_text())
    text = HTTP_API
    for tag in api["tags"]:
        text += f"\n## {tag['name']}\n\n{tag['description']}\n\n| call | purpose |\n|---|---|\n"
        for path, methods in api["paths"].items():
            for method, call in methods.items():
                if tag["name"] in call["tags"]:
                    text += f"| [`{method.upper()} {path}`](../api.html#{call['operationId']}) | {call['summary']} |\n"
    return text


def navigation():
    """The pages of the navigation, in its order: `(section, place on the site)`."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("", lambda *_: None)

    def walk(entries, section):
        for entry in entries:
            name, inside = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
            if isinstance(inside, list):
                yield from walk(inside, section or name)
            else:
                yield section, inside

    return list(walk(yaml.load(SETTINGS.read_text(), Loader)["nav"], None))


def write_pages():
    pages = Pages()
    pages.texts["reference/http-api.md"] = http_api()
    if PLAYGROUND.exists():
        head, rest = pages.texts["index.md"].split("\n## ", 1)
        pages.texts["index.md"] = f"{head}\n[Try it in this browser](playground.html): the handler and a table in one page, with nothing to install.\n\n## {rest}"
    shown, kept = {place for _, place in navigation()}, set(pages.texts)
    wrong = pages.wrong + [f"mkdocs.yml names {place}, which isn't there" for place in sorted(shown - kept)]
    wrong += [f"mkdocs.yml lacks {place}" for place in sorted(kept - shown) if not place.startswith("files/")]
    if wrong:
        sys.exit("\n".join(wrong))
    shutil.rmtree(BUILD, ignore_errors=True)
    staged = BUILD / "pages"
    for place, text in pages.texts.items():
        head = {"title": HOME if place == "index.md" else title(text), "description": description(text)}
        # A link to a file finds it. A search for words would only find it before the page that explains it.
        head |= {"search": {"exclude": True}, "hide": ["toc"]} if place.startswith("files/") else {}
        target = staged / place
        target.parent.mkdir(parents=True, exist_ok=True)
        body = text if place.startswith("files/") else tabbed(indented(text))
        target.write_text(f"---\n{yaml.safe_dump(head, allow_unicode=True, width=1000)}---\n\n{body}\n")
    for place, source in {**pages.files, "openapi.json": ROOT / "docs/openapi.json", "assets/site.css": ROOT / "infra/site/site.css"}.items():
        (staged / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, staged / place)
    shutil.copyfile(SETTINGS, BUILD / "mkdocs.yml")
    shutil.copytree(SETTINGS.parent / "theme", BUILD / "theme")
    (staged / "api.html").write_text(api_page())
    if PLAYGROUND.exists():
        shutil.copyfile(PLAYGROUND, staged / "playground.html")
    print(f"{len(shown)} pages, and {len(kept) - len(shown)} of files that they link to")


def api_page():
    """The page that the API serves at /docs, with a way back."""
    html = API_PAGE.read_text().replace("</head>", '<link rel="icon" href="assets/images/favicon.png">\n</head>')
    return html.replace("<body>\n", '<body>\n<p><a href="reference/http-api/">Documentation</a></p>\n')


def mark_internals():
    """Names internals as such in the index of the search, and takes their pages' names from what a search weighs, so that guides come before them."""
    index = json.loads((SITE / "search.json").read_text())
    for item in index["items"]:
        if item["location"].startswith("internals/"):
            item["title"], item["path"] = f"Internals: {item['title']}", item["path"][:-1]
    (SITE / "search.json").write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")))


def write_texts():
    """llms.txt, the list of the pages, and llms-full.txt, all of them in one. Internals are in neither: they are no help to users."""
    pages, url = Pages(root=os.environ.get("SITE_URL") or "./"), os.environ.get("SITE_URL", "")
    pages.texts["reference/http-api.md"] = http_api()
    home = pages.texts["index.md"]
    listed, full, last = [f"# {title(home)}\n\n> {description(home)}\n"], [], None
    for section, place in navigation():
        if section == "Internals":
            continue
        text = pages.texts[place]
        if section and section != last:
            listed.append(f"\n## {section}\n")
        last = section
        if section:
            listed.append(f"- [{title(text)}]({url}{output.address(place)}): {description(text)}")
        full.append(f"<!-- {url}{output.address(place)} -->\n\n{text.strip()}\n")
    (SITE / "llms.txt").write_text("\n".join(listed) + "\n")
    (SITE / "llms-full.txt").write_text("\n\n".join(full))


def main():
    match sys.argv[1:]:
        case ["pages"]:
            write_pages()
        case ["finish"]:
            shutil.rmtree(SITE, ignore_errors=True)
            shutil.move(BUILD / "site", SITE)
            mark_internals()
            write_texts()
            # A map of the site has whole addresses.
            os.environ.get("SITE_URL") or (SITE / "sitemap.xml").unlink()
            output.check(SITE)
        case _:
            sys.exit(__doc__)


main()
