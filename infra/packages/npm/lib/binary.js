// Where the binary `sapwood` is.
'use strict';

/**
 * Returns the path of the binary: that of the variable SAPWOOD_BINARY, or the one of this platform's package.
 * @returns {string}
 */
function binary() {
  if (process.env.SAPWOOD_BINARY) return process.env.SAPWOOD_BINARY;
  const name = `@sapwood/${process.platform}-${process.arch}`;
  const file = process.platform === 'win32' ? 'sapwood.exe' : 'sapwood';
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    throw new Error(
      `the package ${name} isn't installed. npm installs it with \`sapwood\`, unless optional dependencies are left out, ` +
        'or there is none for this platform: build sapwood from source then, and name the binary in SAPWOOD_BINARY',
    );
  }
}

module.exports = { binary };
