# Homebrew formula.
class Clew < Formula
  desc "Debugger for Go with stacks that go through native code"
  homepage "https://github.com/clewdbg/clew"
  version "[[.Version]]"
  license "MIT"

  on_macos do
    on_arm do
      url "https://github.com/clewdbg/clew/releases/download/[[.Tag]]/clew_[[.Version]]_darwin_arm64.tar.gz"
      sha256 "[[index .Sums "darwin/arm64"]]"
    end
    on_intel do
      url "https://github.com/clewdbg/clew/releases/download/[[.Tag]]/clew_[[.Version]]_darwin_amd64.tar.gz"
      sha256 "[[index .Sums "darwin/amd64"]]"
    end
  end
  on_linux do
    on_arm do
      url "https://github.com/clewdbg/clew/releases/download/[[.Tag]]/clew_[[.Version]]_linux_arm64.tar.gz"
      sha256 "[[index .Sums "linux/arm64"]]"
    end
    on_intel do
      url "https://github.com/clewdbg/clew/releases/download/[[.Tag]]/clew_[[.Version]]_linux_amd64.tar.gz"
      sha256 "[[index .Sums "linux/amd64"]]"
    end
  end

  def install
    bin.install "clew"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/clew.bash" => "clew"
    zsh_completion.install "completions/_clew"
    fish_completion.install "completions/clew.fish"
    doc.install "README.md", "THIRD_PARTY_NOTICES.txt", "sbom.cdx.json"
  end

  test do
    assert_match "clew v#{version}", shell_output("#{bin}/clew version")
  end
end
