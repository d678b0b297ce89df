//! Compiles the library to WebAssembly, with the target of rustup's toolchain, or with Debian's compiler and sources.

use std::fs;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's packages `rustc-web`, `cargo-web` and `rust-web-src`.
const DEBIAN: [&str; 3] = ["/usr/bin/cargo", "/usr/bin/rustc", "/usr/lib/rustlib/src/rust/library/std/Cargo.toml"];

/// One crate of the simulation can draw from the system, which nothing here does. What a panic says of its place, and
/// how values look to a programmer, would be a tenth of the module. Nobody reads it there. Both flags are unstable.
const FLAGS: &str = "--cfg getrandom_backend=\"unsupported\" -Zlocation-detail=none -Zfmt-debug=none";

/// Returns the module.
pub(crate) fn module(root: &Path) -> Result<Vec<u8>, String> {
    let printed = |print: &str| {
        let printed = Command::new("rustc").args(["--target", TARGET, "--print", print]).output();
        printed.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    };
    let mut cargo = if Path::new(&printed("target-libdir")).is_dir() {
        Command::new("cargo")
    } else if DEBIAN.iter().all(|file| Path::new(file).exists()) {
        let mut cargo = Command::new(DEBIAN[0]);
        // Its compiler has no linker of its own; rustup's has one.
        let linker = format!("{}/lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld", printed("sysroot"));
        cargo.env("RUSTC", DEBIAN[1]).env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        cargo.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
        cargo
    } else {
        return Err(format!("there is no compiler for WebAssembly here: run `rustup target add {TARGET}`"));
    };
    let target = root.join("target/wasm");
    cargo
        .current_dir(root)
        .args(["rustc", "--locked", "--package", "sapwood-playground", "--lib", "--crate-type", "cdylib"])
        .args(["--profile", "playground", "--target", TARGET, "--target-dir"])
        .arg(&target)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", FLAGS)
        .env("RUSTC_BOOTSTRAP", "1");
    // The gate's own compiler is of another version.
    for name in ["RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "CARGO_BUILD_TARGET", "RUSTFLAGS", "LD_LIBRARY_PATH"] {
        cargo.env_remove(name);
    }
    let compiled = cargo.status().map_err(|error| format!("cargo can't be run: {error}"))?;
    if !compiled.success() {
        return Err("the playground doesn't compile to WebAssembly".to_owned());
    }
    let module = target.join(TARGET).join("playground/sapwood_playground.wasm");
    fs::read(&module).map_err(|error| format!("{} can't be read: {error}", module.display()))
}
