"""Checks what was built: no page loads anything from another origin, and every link leads to a file and an element that are there."""

import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

# The elements that load what their attribute names.
LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "srcset", "use": "href"}
# Relations of `link` that load nothing.
NAMED_ONLY = {"canonical", "prev", "next", "alternate"}


def address(place):
    """The address of a page, from the site's root."""
    return re.sub(r"(^|/)index/$", r"\1", place.removesuffix(".md") + "/")


class Page(HTMLParser):
    """The links, ids and loaded files of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.loaded, self.titles, self.described = [], set(), [], 0, False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        self.titles += tag == "h1"
        self.described |= tag == "meta" and given.get("name") == "description" and bool(given.get("content"))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        named_only = tag == "link" and NAMED_ONLY & set(given.get("rel", "").split())
        if tag in LOADING and given.get(LOADING[tag]) and not named_only:
            self.loaded.append(given[LOADING[tag]])


def file_of(site, page, path):
    """The file that a path on a page names."""
    start = site if path.startswith("/") else page.parent
    found = (start / path.lstrip("/")).resolve() if path else page
    return found / "index.html" if found.is_dir() else found


def check(site):
    """Ends the script if something is wrong, and prints what there is."""
    pages = {path.resolve(): Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    wrong, links = [], 0
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        own = path.name == "index.html"
        wrong += [f"{name}: {page.titles} elements h1" for _ in [0] if own and page.titles != 1]
        wrong += [f"{name}: no description" for _ in [0] if own and not page.described]
        wrong += [f"{name} loads {url}" for url in page.loaded if re.match(r"(\w+:)?//", url)]
        # A page that isn't found is shown at any address, so its links begin at the root of the host. What the API's page links to is made by its script.
        for link in [] if path.name in ("404.html", "api.html") else page.links + page.loaded:
            if re.match(r"\w+:|//", link):
                continue
            links += 1
            target, _, anchor = unquote(link).partition("#")
            file = file_of(site.resolve(), path, target.partition("?")[0])
            if not file.is_file():
                wrong.append(f"{name}: {link} leads to no file")
            elif anchor and file in pages and file.name != "api.html" and anchor not in pages[file].ids:
                wrong.append(f"{name}: {link} leads to no element")
    for style in site.rglob("*.css"):
        wrong += [f"{style.name} loads {url}" for url in re.findall(r"url\([\"']?((?:https?:)?//[^)\"']+)", style.read_text())]
    if wrong:
        sys.exit("\n".join(sorted(set(wrong))))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"{len(pages)} pages, {links} links, {size / 1e6:.1f} MB; nothing is loaded from another origin")
