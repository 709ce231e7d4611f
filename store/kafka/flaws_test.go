package kafka

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func newFlaw(name, file, found string, oldNew ...string) mutanttest.Flaw {
	return mutanttest.New(name, "store/kafka/"+file, found, oldNew...)
}

// flaws are what could be wrong with batches, each found by a test that it names.
func flaws() []mutanttest.Flaw {
	return []mutanttest.Flaw{
		newFlaw("the records of a batch have one index", "producer.go", "TestBatch", "OffsetDelta: int32(i),",
			"OffsetDelta: int32(i / len(records)),"),
		newFlaw("the last record of a batch is no part of it", "producer.go", "TestBatch",
			"LastOffsetDelta: int32(len(records) - 1)", "LastOffsetDelta: int32(len(records) - 2)"),
		newFlaw("a batch has the numbers of the first one", "producer.go", "TestBatch", "FirstSequence: p.next,",
			"FirstSequence: min(p.next, 0),"),
		newFlaw("the checksum of a batch is of its records alone", "producer.go", "TestBatch", "checksum(out[summed:])",
			"checksum(out[batchHead:])"),
		newFlaw("a batch may have more bytes than Kafka takes", "producer.go", "TestFitting", "size > maxBatch {",
			"size > maxBatch+maxBatch/100 {"),
		newFlaw("a record is counted without what Kafka adds", "producer.go", "TestFitting",
			"len(records[n]) + recordHead; size", "len(records[n]) + recordHead/10; size"),
		newFlaw("what a newer version wrote is skipped", "write.go", "TestFormats",
			"		if !bytes.Equal(h.Value, sum) {\n",
			"		if !bytes.Equal(h.Value, sum) {\n			continue\n		}\n		if h.Value == nil {\n"),
		newFlaw("what a newer version wrote is read", "write.go", "TestFormats",
			"		if !bytes.Equal(h.Value, sum) {\n", "		if len(h.Value) < len(sum)-1 {\n"),
		newFlaw("an append whose answer was lost is called not done", "producer.go", "TestOutcome",
			"	case code == nil:\n		return true, false\n",
			"	case code == nil:\n		return before, false\n"),
		newFlaw("a refusal behind a lost answer is the outcome", "producer.go", "TestOutcome",
			"		return before, false // it was refused", "		return false, false"),
		newFlaw("an append whose answer was lost is made anew", "producer.go", "TestOutcome",
			"		return before, !before\n", "		return before, true\n"),
	}
}

func TestFlawsFit(t *testing.T) {
	t.Parallel()
	mutanttest.Fit(t, mutanttest.Set(flaws()))
}

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/kafka", flaws(), "-test.timeout", "20s")
}
