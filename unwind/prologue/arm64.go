package prologue

// ARM64 is AMD64 for arm64 code (little-endian instructions).
func ARM64(code []byte, start, pc uint64) (Rule, Verdict) {
	return analyse(&arm64Arch, code, start, pc)
}

var arm64Arch arch
