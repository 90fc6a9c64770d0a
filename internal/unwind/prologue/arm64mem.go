package prologue

// memoryARM64 decodes loads and stores (Arm Architecture Reference Manual, C4.1.94 and after).
func memoryARM64(p *program, out *inst, w uint32) {
	rn, vec := w>>5&31, w>>26&1 == 1
	if w&0x3b000000 != 0x18000000 { // not a literal
		out.base = uint8(rn)
	}
	switch {
	case w&0x3a000000 == 0x28000000:
		pairARM64(p, out, w, vec)
	case w&0x3b000000 == 0x18000000: // ldr literal
		p.emit(op{kind: opClobber, mask: regMask(w&31, vec)})
	case w&0x3b000000 == 0x39000000, w&0x3b200000 == 0x38000000: // unsigned offset; unscaled, pre- and post-indexed
		singleARM64(p, out, w, vec)
	case w&0x3b200c00 == 0x38200800: // register offset
		switch load := w>>22&3 != 0; {
		case load && !vec:
			loadIndexed(p, w)
		case w>>22&1 == 1:
			p.emit(op{kind: opClobber, mask: regMask(w&31, vec)})
		}
	case vec: // structures of vectors, with write-back
		m := uint64(0)
		for i := range uint32(4) {
			m |= regMask((w+i)&31, true)
		}
		p.emit(op{kind: opClobber, mask: m})
		if w>>23&1 == 1 {
			clobberBase(p, rn)
		}
	case w&0x3b200c00 == 0x38200000, w&0x3f000000 == 0x08000000, w&0x3f200c00 == 0x19000000:
		atomicARM64(p, w)
	default: // tags, copying and setting of memory
		p.emit(op{kind: opWipe, s: uint8(rn), t: 16},
			op{kind: opClobber, mask: regMask(w&31, false) | regMask(w>>10&31, false) | regMask(w>>16&31, false) | regMask((w>>16+1)&31, false) | regMask((w+1)&31, false)})
		if w&0x3f200c00 == 0x38200400 || w&0xff200000 == 0xd9200000 && w>>10&1 == 1 { // ldraa pre-indexed; stg write-back
			clobberBase(p, rn)
		}
	}
}

// atomicARM64: atomic memory operations, exclusive and ordered loads and stores, compare and swap. Most read a register
// besides, which may be a callee-saved one, and keep it.
func atomicARM64(p *program, w uint32) {
	rs, rt2, rt := w>>16&31, w>>10&31, w&31
	load, pair := w>>22&1 == 1, w>>21&1 == 1
	written := regMask(rt, false)
	switch {
	case w>>28&3 == 3: // ldadd, swp, ldapr and their like
	case w&0x3f200c00 == 0x19000000: // ldapur, stlur
		if w>>22&3 == 0 {
			written = 0
		}
	case pair && w>>23&1 == 1: // cas
		written = regMask(rs, false)
	case pair && w>>31 == 0: // casp
		written = regMask(rs, false) | regMask((rs+1)&31, false)
	case load && pair: // ldxp
		written |= regMask(rt2, false)
	case load:
	case w>>23&1 == 0: // stxr, stxp: whether it was stored
		written = regMask(rs, false)
	default: // stlr
		written = 0
	}
	p.emit(op{kind: opWipe, s: uint8(w >> 5 & 31), t: 16})
	if written != 0 {
		p.emit(op{kind: opClobber, mask: written})
	}
}

func clobberBase(p *program, rn uint32) {
	if rn == 31 {
		p.emit(op{kind: opBase})
		return
	}
	p.emit(op{kind: opClobber, mask: 1 << rn})
}

func regMask(r uint32, vec bool) uint64 {
	if vec {
		return clobberBoth(r) &^ (1<<32 - 1)
	}
	return clobberBoth(r) & (1<<31 - 1)
}

// access is one register of a load or store.
func access(p *program, load, vec bool, size int64, reg uint32, base uint8, off int64) {
	r := zr(reg)
	if vec {
		r = dreg(reg)
	}
	switch {
	case load && size == 8:
		if r != regNone {
			p.emit(op{kind: opLoad, d: r, s: base, imm: off})
		}
	case load && size == 16 && r != regNone:
		// The low half of a q register, little-endian: the callee-saved part.
		p.emit(op{kind: opLoad, d: r, s: base, imm: off})
	case load:
		if m := regMask(reg, vec); m != 0 {
			p.emit(op{kind: opClobber, mask: m})
		}
	case size == 8 && r != regNone:
		p.emit(op{kind: opStore, s: base, imm: off, t: r})
	default:
		p.emit(op{kind: opWipe, s: base, imm: off, t: uint8(size)})
		if size == 16 && r != regNone {
			p.emit(op{kind: opStore, s: base, imm: off, t: r})
		}
	}
}

// pairARM64: ldp, stp, ldnp, stnp, ldpsw, stgp.
func pairARM64(p *program, out *inst, w uint32, vec bool) {
	load, opc, mode := w>>22&1 == 1, w>>30, w>>23&3
	size := int64(4)
	signed := false
	switch {
	case vec:
		size = 4 << opc
	case opc == 2:
		size = 8
	case opc == 1:
		signed = true // ldpsw; stgp when storing
		if !load {
			size = 8
		}
	}
	scale := size
	if signed && !load {
		scale = 16
	}
	off := sext(w>>15, 7) * scale
	if opc == 3 {
		out.flow = flowBad
		return
	}
	rn, t1, t2 := uint8(w>>5&31), w&31, w>>10&31
	if rn == sp64 {
		out.flags |= tearOrBuild(load)
	}
	at := off
	if mode == 1 { // post-indexed
		at = 0
	}
	base := rn
	if load { // the base may be among the registers loaded
		p.emit(op{kind: opMov, d: regTmp, s: rn})
		base = regTmp
	}
	if mode == 3 && !load && rn == sp64 {
		// Pre-indexed push: lower SP after the stores, at the same addresses.
		at = off
	}
	access(p, load, vec, size, t1, base, at)
	access(p, load, vec, size, t2, base, at+size)
	if mode == 1 || mode == 3 {
		p.emit(op{kind: opAdd, d: rn, s: base, imm: off})
	}
}

// singleARM64: ldr, str, ldur, stur and their narrow forms.
func singleARM64(p *program, out *inst, w uint32, vec bool) {
	logSize, opc := w>>30, w>>22&3
	size, load := int64(1)<<logSize, opc != 0
	if vec {
		load = opc&1 == 1
		if opc >= 2 {
			size = 16
		}
	} else if logSize == 3 && opc == 2 { // prfm
		return
	}
	rn := uint8(w >> 5 & 31)
	off, mode := int64(w>>10&0xfff)*size, uint32(0)
	if w>>24&1 == 0 {
		off, mode = sext(w>>12, 9), w>>10&3
	}
	if rn == sp64 && size == 8 {
		out.flags |= tearOrBuild(load)
	}
	at := off
	if mode == 1 {
		at = 0
	}
	base := rn
	if load {
		p.emit(op{kind: opMov, d: regTmp, s: rn})
		base = regTmp
	}
	access(p, load, vec, size, w&31, base, at)
	if mode == 1 || mode == 3 {
		p.emit(op{kind: opAdd, d: rn, s: base, imm: off})
	}
}
