package values

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/clewdbg/clew/server/values/types"
	"github.com/clewdbg/clew/unwind"
)

// float writes a number of floating point: as few digits as name it alone.
func (f *Frame) float(u *types.Type, data []byte) (string, error) {
	switch len(data) {
	case 2:
		bits := binary.LittleEndian.Uint16(data)
		if strings.Contains(strings.ToLower(u.Own), "bf16") || strings.Contains(u.Own, "bfloat") {
			return formatFloat(float64(math.Float32frombits(uint32(bits)<<16)), 32), nil
		}
		return formatFloat(half(bits), 32), nil
	case 4:
		return formatFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(data))), 32), nil
	case 8:
		return formatFloat(math.Float64frombits(binary.LittleEndian.Uint64(data)), 64), nil
	case 16:
		if f.stack.Arch == unwind.AMD64 && !strings.Contains(u.Own, "128") && !strings.Contains(u.Own, "quad") {
			return extended(data[:10]), nil
		}
		return quad(data), nil
	case 10, 12:
		return extended(data[:10]), nil
	}
	return "", fmt.Errorf("floating point of %d bytes is not supported", len(data))
}

func formatFloat(f float64, bits int) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// half is a number of IEEE 754's binary16.
func half(b uint16) float64 {
	sign, exp, frac := 1.0, int(b>>10)&31, float64(b&0x3ff)
	if b&0x8000 != 0 {
		sign = -1
	}
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

// extended writes a number of x87's 80 bits: sign and exponent are the last two bytes.
func extended(data []byte) string {
	mantissa, top := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint16(data[8:])
	return bigFloat(top&0x8000 != 0, int(top&0x7fff), new(big.Int).SetUint64(mantissa), 16383, 63, mantissa<<1 == 0, 64)
}

// quad writes a number of IEEE 754's binary128.
func quad(data []byte) string {
	top := binary.LittleEndian.Uint16(data[14:])
	frac := bigOf(data[:14])
	zero := frac.Sign() == 0
	if top&0x7fff != 0 && top&0x7fff != 0x7fff {
		frac.SetBit(frac, 112, 1)
	}
	return bigFloat(top&0x8000 != 0, int(top&0x7fff), frac, 16383, 112, zero, 113)
}

// bigFloat writes mantissa * 2^(exponent-bias-shift).
func bigFloat(negative bool, exponent int, mantissa *big.Int, bias, shift int, noFraction bool, precision uint) string {
	sign := ""
	if negative {
		sign = "-"
	}
	switch {
	case exponent == 0x7fff && noFraction:
		return sign + "inf"
	case exponent == 0x7fff:
		return "nan"
	case mantissa.Sign() == 0:
		return sign + "0"
	case exponent == 0:
		exponent = 1
	}
	f := new(big.Float).SetPrec(precision).SetInt(mantissa)
	f.SetMantExp(f, exponent-bias-shift)
	return sign + f.Text('g', -1)
}
