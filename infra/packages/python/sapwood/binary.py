"""Where the binary `sapwood` is."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path


def find_binary() -> str:
    """Returns the path of the binary: that of the variable SAPWOOD_BINARY, the one that was installed with this module, or the first of
    PATH."""
    if named := os.environ.get("SAPWOOD_BINARY"):
        return named
    name = "sapwood.exe" if sys.platform == "win32" else "sapwood"
    user = sysconfig.get_preferred_scheme("user")
    places = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", scheme=user)]
    # With `--target` pip puts scripts beside the modules.
    places.append(str(Path(__file__).resolve().parent.parent / "bin"))
    for place in places:
        if (path := Path(place) / name).is_file():
            return str(path)
    if found := shutil.which(name):
        return found
    nowhere = f"the binary {name} isn't in {', '.join(places)} or PATH"
    raise FileNotFoundError(f"{nowhere}: install the package again, or name the binary in SAPWOOD_BINARY")
