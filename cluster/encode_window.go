package cluster

// windowFlag is set in the byte of a partition's state where its part in a window follows.
const windowFlag = 0x40

func (p *Partition) windowFlag() byte {
	if p.inWindow() {
		return windowFlag
	}
	return 0
}

// partitionState reads the byte of a partition's state, and what follows behind the partition.
func (r *decoder) partitionState() (state byte, inSlot, inWindow bool) {
	b := r.byte()
	state = b &^ (moreFlag | windowFlag)
	if state > byte(PartitionBlocked) {
		r.fail("an unknown choice")
		return 0, false, false
	}
	return state, b&moreFlag != 0, b&windowFlag != 0
}

func appendWindow(b []byte, p *Partition) []byte {
	if !p.inWindow() {
		return b
	}
	b = appendString(appendString(b, p.ListedBy), p.Input)
	return appendString(appendVarint(b, p.Step), p.Cursor)
}

func decodeWindow(r *decoder, p *Partition) {
	p.ListedBy, p.Input, p.Step, p.Cursor = r.string(), r.bytes(), r.varint(), r.bytes()
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
