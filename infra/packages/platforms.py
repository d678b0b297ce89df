"""What the packages of each platform are called, and what a binary for it looks like."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    """A platform: Rust's name of it, the tags of its wheel, npm's names, and, for an image, OCI's."""

    target: str
    wheel: str
    npm: tuple[str, str]
    image: dict[str, str] | None
    begins: tuple[bytes, ...]
    # Where the processor's number is in the file, and the number.
    machine: tuple[int, bytes] | None = None
    suffix: str = ""


ELF = (b"\x7fELF\x02\x01",)
MACH_O = (b"\xcf\xfa\xed\xfe",)
# A static binary needs no C library, so it runs with glibc (manylinux) and with musl (musllinux) alike.
LINUX = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"
PLATFORMS = {
    "linux-x64": Platform("x86_64-unknown-linux-musl", LINUX.format("x86_64"), ("linux", "x64"),
                          {"architecture": "amd64", "os": "linux"}, ELF, (18, b"\x3e\x00")),
    "linux-arm64": Platform("aarch64-unknown-linux-musl", LINUX.format("aarch64"), ("linux", "arm64"),
                            {"architecture": "arm64", "os": "linux", "variant": "v8"}, ELF, (18, b"\xb7\x00")),
    "darwin-x64": Platform("x86_64-apple-darwin", "macosx_10_12_x86_64", ("darwin", "x64"), None, MACH_O, (4, b"\x07\x00\x00\x01")),
    "darwin-arm64": Platform("aarch64-apple-darwin", "macosx_11_0_arm64", ("darwin", "arm64"), None, MACH_O, (4, b"\x0c\x00\x00\x01")),
    "win32-x64": Platform("x86_64-pc-windows-msvc", "win_amd64", ("win32", "x64"), None, (b"MZ",), None, ".exe"),
}


def fits(platform, binary):
    """True if the binary is one of the platform."""
    begins = any(binary.startswith(magic) for magic in platform.begins)
    at, number = platform.machine or (0, b"")
    return begins and binary[at:at + len(number)] == number
