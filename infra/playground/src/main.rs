//! `sapwood-playground build [FILE]`: compiles the playground to WebAssembly, and makes one HTML file of it and the
//! explorer's page.

mod bundle;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The file that is made, from the root of the workspace.
const FILE: &str = "target/playground/index.html";

const TARGET: &str = "wasm32-unknown-unknown";

/// Where the sources of the standard library are, in the toolchain, and in Debian's package `rust-web-src`.
const SOURCES: [&str; 2] = ["lib/rustlib/src/rust/library", "/usr/lib/rustlib/src/rust/library"];

/// One crate of the simulation can draw from the system, which nothing here does. What a panic says of its place, and
/// how values look to a programmer, would be a tenth of the module. Nobody reads it there. These flags are unstable.
const FLAGS: &str = "--cfg getrandom_backend=\"unsupported\" -Zlocation-detail=none -Zfmt-debug=none -Zunstable-options -Cpanic=immediate-abort";

/// Arguments of `wasm-opt`: for size, with what the compiler's target has.
const OPTIMIZER: [&str; 6] = [
    "-Oz",
    "--enable-bulk-memory",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[allow(clippy::disallowed_methods, reason = "the command line is read here")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let built = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["build"] => build(root, &root.join(FILE)),
        ["build", file] => build(root, Path::new(file)),
        _ => Err("usage: cargo run -p sapwood-playground -- build [FILE]".into()),
    };
    built.map_or_else(
        |error| {
            eprintln!("sapwood-playground: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn build(root: &Path, file: &Path) -> Result<()> {
    let module = module(root)?;
    let page = bundle::page(&module)?;
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    fs::write(file, &page)?;
    println!("{}: {} bytes; the module has {}", file.display(), page.len(), module.len());
    Ok(())
}

/// Compiles the library, and the standard library for size with it, by the toolchain, or by Debian's compiler for wasm.
fn module(root: &Path) -> Result<Vec<u8>> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout)?.trim());
    let mut cargo = Command::new("cargo");
    if !sysroot.join(SOURCES[0]).is_dir() {
        if !Path::new(SOURCES[1]).is_dir() {
            return Err("the sources of the standard library aren't here: run `rustup component add rust-src`".into());
        }
        cargo = Command::new("/usr/bin/cargo");
        // Debian's compiler has no linker for WebAssembly. The toolchain has one.
        let linker = sysroot.join("lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
        cargo.env("RUSTC", "/usr/bin/rustc").env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    }
    let target = root.join("target/wasm");
    cargo.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
    cargo.args(["rustc", "--locked", "--package=sapwood-playground", "--lib", "--crate-type=cdylib"]);
    cargo.args(["--profile=playground", "--target", TARGET, "--target-dir"]).arg(&target).current_dir(root);
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", FLAGS).env("RUSTC_BOOTSTRAP", "1");
    // The gate's own compiler is of another version.
    for name in ["RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "CARGO_BUILD_TARGET", "RUSTFLAGS", "LD_LIBRARY_PATH"] {
        cargo.env_remove(name);
    }
    if !cargo.status()?.success() {
        return Err("the playground doesn't compile to WebAssembly".into());
    }
    let module = target.join(TARGET).join("playground/sapwood_playground.wasm");
    let smaller = module.with_extension("smaller.wasm");
    let optimized = Command::new("wasm-opt").args(OPTIMIZER).arg(&module).arg("-o").arg(&smaller).status();
    if optimized.is_ok_and(|status| status.success()) {
        return Ok(fs::read(smaller)?);
    }
    println!("wasm-opt (binaryen) would make the file a fifteenth smaller");
    Ok(fs::read(module)?)
}
