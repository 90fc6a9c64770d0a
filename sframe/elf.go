package sframe

// The sections that SFrame uses of an ELF file.
const (
	SectionName   = ".sframe"
	SectionPLTGot = ".plt.got"
	SectionPLT    = ".plt"
	SectionPLTSec = ".plt.sec"
)

// AddPLT records a section of the linkage table, by its name.
func (o *Options) AddPLT(s Section) {
	switch s.Name {
	case SectionPLTGot:
		o.PLTGot = s
	case SectionPLT, SectionPLTSec:
		o.PLT = append(o.PLT, s)
	}
}
