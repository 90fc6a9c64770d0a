package wire

import (
	"github.com/clewdbg/clew/unwind"
	pb "github.com/clewdbg/clew/unwind/wire/unwindv1"
)

const (
	// chunkSize is how much of a section one message holds.
	chunkSize = 512 << 10
	// yieldChunk is how many ranges one message holds: two varints of at most
	// ten bytes each.
	yieldChunk = 32 << 10
	// maxSection bounds a section that a plugin accepts. Chrome's .eh_frame has
	// 30 MiB; a .debug_frame can be larger.
	maxSection = 1 << 30
	// maxImages bounds the images of one delta.
	maxImages = 1 << 20
)

// sendDelta cuts a delta into chunks.
func sendDelta(delta *unwind.ImageDelta, send func(*pb.UpdateChunk) error) error {
	head := &pb.UpdateChunk_Head{Arch: pb.Arch(delta.Arch), Os: text(delta.OS), PacMask: delta.PACMask}
	for _, id := range delta.Removed {
		head.Removed = append(head.Removed, uint32(id))
	}
	if err := send(&pb.UpdateChunk{Piece: &pb.UpdateChunk_Head_{Head: head}}); err != nil {
		return err
	}
	for i := range delta.Added {
		if err := sendImage(&delta.Added[i], send); err != nil {
			return err
		}
	}
	return nil
}

func sendImage(img *unwind.Image, send func(*pb.UpdateChunk) error) error {
	err := send(&pb.UpdateChunk{Piece: &pb.UpdateChunk_Image_{Image: &pb.UpdateChunk_Image{
		Id: uint32(img.ID), Base: img.Base, Path: []byte(img.Path), BuildId: img.BuildID,
		Executable: rangesToWire(unwind.NewRangeSet(img.Executable...)),
	}}})
	if err != nil {
		return err
	}
	for _, s := range img.Sections {
		err := send(&pb.UpdateChunk{Piece: &pb.UpdateChunk_Section_{Section: &pb.UpdateChunk_Section{
			Name: text(s.Name), Addr: s.Addr, Size: uint64(len(s.Data)),
		}}})
		if err != nil {
			return err
		}
		for data := s.Data; len(data) > 0; {
			n := min(len(data), chunkSize)
			if err := send(&pb.UpdateChunk{Piece: &pb.UpdateChunk_Data{Data: data[:n]}}); err != nil {
				return err
			}
			data = data[n:]
		}
	}
	return nil
}

// deltaBuilder puts a delta together from chunks.
type deltaBuilder struct {
	delta    unwind.ImageDelta
	headSeen bool
	open     *unwind.Section // the section that data belongs to
	missing  uint64          // bytes of it that have not come
}

func (b *deltaBuilder) add(chunk *pb.UpdateChunk) error {
	const method = "Update"
	data, isData := chunk.GetPiece().(*pb.UpdateChunk_Data)
	if b.missing > 0 && !isData {
		return broken(method, "section %q lacks %d bytes", b.open.Name, b.missing)
	}
	if _, isHead := chunk.GetPiece().(*pb.UpdateChunk_Head_); isHead == b.headSeen {
		return broken(method, "the head must come first, and once")
	}
	switch piece := chunk.GetPiece().(type) {
	case *pb.UpdateChunk_Head_:
		return b.addHead(piece.Head)
	case *pb.UpdateChunk_Image_:
		return b.addImage(piece.Image)
	case *pb.UpdateChunk_Section_:
		return b.addSection(piece.Section)
	case *pb.UpdateChunk_Data:
		if uint64(len(data.Data)) > b.missing {
			return broken(method, "%d bytes of data where %d are missing", len(data.Data), b.missing)
		}
		// Grows with the data received, not with the announced size.
		b.open.Data = append(b.open.Data, data.Data...)
		b.missing -= uint64(len(data.Data))
		return nil
	}
	return nil // a piece that a newer host sends; it cannot be about anything we know
}

func (b *deltaBuilder) addHead(h *pb.UpdateChunk_Head) error {
	arch, _ := archFromWire(h.GetArch()) // one that is not known here is ArchUnknown
	b.headSeen = true
	b.delta.Arch, b.delta.OS, b.delta.PACMask = arch, h.GetOs(), h.GetPacMask()
	for _, id := range h.GetRemoved() {
		b.delta.Removed = append(b.delta.Removed, unwind.ImageID(id))
	}
	return nil
}

func (b *deltaBuilder) addImage(p *pb.UpdateChunk_Image) error {
	if len(b.delta.Added) >= maxImages {
		return broken("Update", "more than %d images", maxImages)
	}
	ranges, err := rangesFromWire("Update", "executable ranges", p.GetExecutable())
	if err != nil {
		return err
	}
	b.delta.Added = append(b.delta.Added, unwind.Image{
		ID: unwind.ImageID(p.GetId()), Base: p.GetBase(), Path: string(p.GetPath()), BuildID: p.GetBuildId(),
		Executable: ranges,
	})
	return nil
}

func (b *deltaBuilder) addSection(p *pb.UpdateChunk_Section) error {
	const method = "Update"
	if len(b.delta.Added) == 0 {
		return broken(method, "section %q belongs to no image", p.GetName())
	}
	if p.GetSize() > maxSection {
		return broken(method, "section %q of %d bytes (at most %d)", p.GetName(), p.GetSize(), maxSection)
	}
	img := &b.delta.Added[len(b.delta.Added)-1]
	if len(img.Sections) >= maxSections {
		return broken(method, "image %d has more than %d sections", img.ID, maxSections)
	}
	img.Sections = append(img.Sections, unwind.Section{Name: p.GetName(), Addr: p.GetAddr()})
	b.open, b.missing = &img.Sections[len(img.Sections)-1], p.GetSize()
	return nil
}

func (b *deltaBuilder) finish() (unwind.ImageDelta, error) {
	switch {
	case !b.headSeen:
		return unwind.ImageDelta{}, broken("Update", "no head came")
	case b.missing > 0:
		return unwind.ImageDelta{}, broken("Update", "section %q lacks %d bytes", b.open.Name, b.missing)
	}
	return b.delta, nil
}

func reportsToWire(added []unwind.Image, reports []unwind.ImageReport) (*pb.UpdateResponse, error) {
	if len(reports) != len(added) {
		return nil, broken("Update", "%d reports about %d images", len(reports), len(added))
	}
	out := &pb.UpdateResponse{Reports: make([]*pb.ImageReport, len(reports))}
	for i, r := range reports {
		// A strategy may have put its coverage together by hand.
		coverage := unwind.NewRangeSet(r.Coverage...)
		out.Reports[i] = &pb.ImageReport{Id: uint32(r.ID), Coverage: rangesToWire(coverage), Problem: text(r.Problem)}
	}
	return out, nil
}

func reportsFromWire(added []unwind.Image, p *pb.UpdateResponse) ([]unwind.ImageReport, error) {
	const method = "Update"
	if len(p.GetReports()) != len(added) {
		return nil, broken(method, "%d reports about %d images", len(p.GetReports()), len(added))
	}
	out := make([]unwind.ImageReport, len(added))
	for i, r := range p.GetReports() {
		if unwind.ImageID(r.GetId()) != added[i].ID {
			return nil, broken(method, "report %d is about image %d instead of %d", i, r.GetId(), added[i].ID)
		}
		coverage, err := rangesFromWire(method, "coverage", r.GetCoverage())
		if err != nil {
			return nil, err
		}
		out[i] = unwind.ImageReport{ID: added[i].ID, Coverage: coverage, Problem: r.GetProblem()}
	}
	return out, nil
}

func sendRanges(ranges unwind.RangeSet, send func(*pb.YieldChunk) error) error {
	for len(ranges) > 0 {
		n := min(len(ranges), yieldChunk)
		if err := send(&pb.YieldChunk{Ranges: rangesToWire(ranges[:n])}); err != nil {
			return err
		}
		ranges = ranges[n:]
	}
	return nil
}

func appendRanges(to unwind.RangeSet, chunk *pb.YieldChunk) (unwind.RangeSet, error) {
	more, err := rangesFromWire("Yield", "ranges", chunk.GetRanges())
	if err != nil {
		return nil, err
	}
	if len(to) > 0 && len(more) > 0 && more[0].Start <= to[len(to)-1].End {
		return nil, broken("Yield", "a chunk starts at %#x, before the end of the one before", more[0].Start)
	}
	return append(to, more...), nil
}
