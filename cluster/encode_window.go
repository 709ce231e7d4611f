package cluster

// Flags in the byte of a partition's state, beside moreFlag, for parts that follow.
const (
	windowFlag  = 0x40 // its part in a window
	shareFlag   = 0x20 // its share of a task that is repartitioned
	offeredFlag = 0x10 // nothing follows: its owner has yet to accept it
	deathsFlag  = 0x08 // deaths of its owners
)

func (p *Partition) flags() (b byte) {
	if p.inWindow() {
		b |= windowFlag
	}
	if p.Count != 0 {
		b |= shareFlag
	}
	if p.Offered {
		b |= offeredFlag
	}
	if p.Deaths != 0 {
		b |= deathsFlag
	}
	return b
}

// partitionState reads the byte of a partition's state, and the flags of what follows behind the partition.
func (r *decoder) partitionState() (state, flags byte) {
	const all = moreFlag | windowFlag | shareFlag | offeredFlag | deathsFlag
	b := r.byte()
	if b&^all > byte(PartitionBlocked) {
		r.fail("an unknown choice")
		return 0, 0
	}
	return b &^ all, b & all
}

func appendShare(b []byte, p *Partition) []byte {
	if p.Count == 0 {
		return b
	}
	return appendVarint(appendVarint(b, p.Index), p.Count)
}

func decodeShare(r *decoder, p *Partition, flags byte) {
	if flags&shareFlag == 0 {
		return
	}
	if p.Index, p.Count = r.varint(), r.varint(); p.Count == 0 {
		r.fail("a share of nothing")
	}
}

func appendDeaths(b []byte, p *Partition) []byte {
	if p.Deaths == 0 {
		return b
	}
	return appendVarint(b, p.Deaths)
}

func decodeDeaths(r *decoder, p *Partition, flags byte) {
	if flags&deathsFlag == 0 {
		return
	}
	if p.Deaths = r.varint(); p.Deaths <= 0 {
		r.fail("deaths that are none")
	}
}

func appendWindow(b []byte, p *Partition) []byte {
	if !p.inWindow() {
		return b
	}
	b = appendString(appendString(b, p.ListedBy), p.Input)
	return appendString(appendVarint(b, p.Step), p.Cursor)
}

func decodeWindow(r *decoder, p *Partition, flags byte) {
	if flags&windowFlag == 0 {
		return
	}
	p.ListedBy, p.Input, p.Step, p.Cursor = r.string(), r.blob(), r.varint(), r.blob()
	if r.err == nil && !p.inWindow() {
		r.fail("a part in a window that says nothing")
	}
}

func appendItem(b []byte, it Item) []byte { return appendString(appendString(b, it.Key), it.Input) }

func decodeItem(r *decoder) Item { return Item{Key: r.string(), Input: r.bytes()} }

func appendAdvance(b []byte, c *AdvanceWindow) []byte {
	b = appendVarint(appendPartitionRef(b, tagAdvanceWindow, c.Partition, c.Token), c.Step)
	return appendList(appendList(appendString(b, c.Cursor), c.Done, appendText), c.Items, appendItem)
}

func (r *decoder) advance() Command {
	return AdvanceWindow{
		Partition: r.partition(), Token: r.token(), Step: r.varint(), Cursor: r.bytes(),
		Done: decodeList(r, (*decoder).string), Items: decodeList(r, decodeItem),
	}
}
