"""Builds the package with setuptools. In a checkout it first writes what is made of docs/openapi.json, and copies the licences; an archive of the
sources has both."""

import shutil
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import get_requires_for_build_editable, get_requires_for_build_sdist, get_requires_for_build_wheel
from setuptools.build_meta import prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel

import generate

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]


def prepare() -> None:
    if generate.DOCUMENT.exists():
        generate.main()
        for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
            shutil.copyfile(generate.HERE.parents[1] / licence, generate.HERE / licence)


def build_wheel(*arguments: Any, **options: Any) -> Any:
    prepare()
    return build_meta.build_wheel(*arguments, **options)


def build_editable(*arguments: Any, **options: Any) -> Any:
    prepare()
    return build_meta.build_editable(*arguments, **options)


def build_sdist(*arguments: Any, **options: Any) -> Any:
    prepare()
    return build_meta.build_sdist(*arguments, **options)
