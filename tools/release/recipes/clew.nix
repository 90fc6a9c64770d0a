# Nix expression: nix-build -E 'with import <nixpkgs> {}; callPackage ./clew.nix {}'
{ lib, stdenv, fetchurl, installShellFiles }:

let
  platform = {
    x86_64-linux = { name = "linux_amd64"; sha256 = "[[index .Sums "linux/amd64"]]"; };
    aarch64-linux = { name = "linux_arm64"; sha256 = "[[index .Sums "linux/arm64"]]"; };
    x86_64-darwin = { name = "darwin_amd64"; sha256 = "[[index .Sums "darwin/amd64"]]"; };
    aarch64-darwin = { name = "darwin_arm64"; sha256 = "[[index .Sums "darwin/arm64"]]"; };
  }.${stdenv.hostPlatform.system};
in
stdenv.mkDerivation rec {
  pname = "clew";
  version = "[[.Version]]";
  src = fetchurl {
    url = "https://github.com/clewdbg/clew/releases/download/[[.Tag]]/clew_${version}_${platform.name}.tar.gz";
    inherit (platform) sha256;
  };
  nativeBuildInputs = [ installShellFiles ];
  dontStrip = true;
  installPhase = ''
    install -Dm755 clew $out/bin/clew
    installManPage man/man1/*.1
    installShellCompletion --bash --name clew completions/clew.bash
    installShellCompletion --zsh completions/_clew
    installShellCompletion --fish completions/clew.fish
    install -Dm644 -t $out/share/doc/clew README.md LICENSE THIRD_PARTY_NOTICES.txt sbom.cdx.json
  '';
  meta = {
    description = "Debugger for Go with stacks that go through native code";
    homepage = "https://github.com/clewdbg/clew";
    license = lib.licenses.mit;
    platforms = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
    mainProgram = "clew";
  };
}
