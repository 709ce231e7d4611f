// Command flows measures examples/wordcount as a flow over a large text beside wc -w on the same machine.
//
//	go run ./bench/flows [--mb 1024] [--kills 2] [--slots 2]
//
// Three processes on the store file count the words, some of which are killed on the way; then wc -w counts them. It
// prints how long each took, how much memory a process had at most, and how long it took from the last count that was
// written to the end of the job.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/bench/internal/measure"
	"github.com/rota-run/rota/proof/process"
)

func main() { measure.Main("flows", run) }

// bench is a directory with programs, texts and results.
type bench struct {
	dir     string
	slots   int
	members []*process.Process
	memory  int // KB, the most that a process had
}

func run(ctx context.Context, args []string, _, stderr io.Writer) error {
	f := flag.NewFlagSet("flows", flag.ContinueOnError)
	f.SetOutput(stderr)
	mb := f.Int("mb", 1024, "how much text, in MiB")
	kills := f.Int("kills", 2, "how many processes are killed on the way")
	slots := f.Int("slots", 2, "of each process")
	if f.Parse(args) != nil {
		return measure.ErrUsage
	}
	dir, err := os.MkdirTemp("", "rota-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, slots: *slots}
	if err := b.prepare(ctx, *mb); err != nil {
		return err
	}
	words, took, err := b.wc()
	if err != nil {
		return err
	}
	fmt.Printf("wc -w: %d words in %.1f s\n", words, took.Seconds())
	if err := b.flow(ctx, *kills, words, took); err != nil {
		return err
	}
	again, took, err := b.wc()
	fmt.Printf("wc -w again: %.1f s\n", took.Seconds())
	if err == nil && again != words {
		return fmt.Errorf("wc -w counts %d, then %d", words, again)
	}
	return err
}

// prepare builds the programs and makes a text of the example's own words, in eight files.
func (b *bench) prepare(ctx context.Context, mb int) error {
	if err := process.Build(ctx, b.dir, process.Rota, "github.com/rota-run/rota/examples/wordcount"); err != nil {
		return err
	}
	var poems []byte
	files, err := filepath.Glob("../examples/wordcount/text/*.txt")
	if err != nil || len(files) == 0 {
		return errors.Join(err, errors.New("run it in the folder proof"))
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		poems = append(append(poems, text...), '\n')
	}
	if err := os.Mkdir(filepath.Join(b.dir, "text"), 0o700); err != nil {
		return err
	}
	part := bytes.Repeat(poems, mb<<20/8/len(poems))
	for i := range 8 {
		if err := os.WriteFile(filepath.Join(b.dir, "text", strconv.Itoa(i)+".txt"), part, 0o600); err != nil {
			return err
		}
	}
	flow, err := os.ReadFile("../examples/wordcount/flow.yaml")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, "flow.yaml"), flow, 0o600)
}

func (b *bench) wc() (words int, took time.Duration, err error) {
	files, err := filepath.Glob(filepath.Join(b.dir, "text", "*.txt"))
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	out, err := exec.Command("wc", append([]string{"-w"}, files...)...).Output()
	if err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	lines := strings.Fields(string(out))
	words, err = strconv.Atoi(lines[len(lines)-2])
	return words, took, err
}

func (b *bench) start(i int) (err error) {
	cmd := exec.Command(filepath.Join(b.dir, "wordcount"), "--member", fmt.Sprint("m", i), "--dir", b.dir, "--store",
		filepath.Join(b.dir, "store"), "--slots", strconv.Itoa(b.slots))
	p, err := process.Start(cmd)
	if err != nil {
		return err
	}
	if i < len(b.members) {
		b.members[i] = p
	} else {
		b.members = append(b.members, p)
	}
	for !strings.Contains(p.Stderr.String(), "joined") {
		if p.Ended() {
			return fmt.Errorf("a member has ended: %s", p.Stderr.String())
		}
		time.Sleep(5 * time.Millisecond) // waits: between two looks
	}
	return nil
}

func (b *bench) flow(ctx context.Context, kills, words int, wc time.Duration) error {
	for i := range 3 {
		if err := b.start(i); err != nil {
			return err
		}
	}
	defer func() {
		for _, m := range b.members {
			_ = m.Kill() // it may have ended
		}
	}()
	store := "file:" + filepath.Join(b.dir, "store")
	began := time.Now()
	if out, err := exec.Command(filepath.Join(b.dir, "rota"), "job", "submit", "--store", store,
		filepath.Join(b.dir, "flow.yaml")).CombinedOutput(); err != nil {
		return fmt.Errorf("rota job submit: %w: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := exec.CommandContext(ctx, filepath.Join(b.dir, "rota"), "job", "show", "wordflow", "--store", store,
			"--follow", "-o", "json").Output()
		ended <- err
	}()
	for killed := 0; ; {
		if killed < kills && b.written() >= 200*(killed+1) {
			if err := b.members[killed].Kill(); err != nil {
				return err
			}
			if err := b.start(killed); err != nil {
				return err
			}
			killed++
		}
		b.weigh()
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("rota job show --follow: %w", err)
			}
			return b.tell(words, began, wc)
		case <-time.After(100 * time.Millisecond): // waits: between two looks
		}
	}
}

func (b *bench) tell(words int, began time.Time, wc time.Duration) error {
	end := time.Now()
	took, total := end.Sub(began), filepath.Join(b.dir, "results/wordflow/total.json")
	var sum struct{ Words, Segments, Lost, Doubled int }
	data, err := os.ReadFile(total)
	if err == nil {
		err = json.Unmarshal(data, &sum)
	}
	if err != nil {
		return err
	}
	summed, last := changed(total), time.Time{}
	counts, _ := filepath.Glob(filepath.Join(b.dir, "results/wordflow/flow/*.json")) // the pattern is sound
	for _, f := range counts {
		if at := changed(f); at.After(last) {
			last = at
		}
	}
	fmt.Printf("flow: %d words in %d segments, lost %d, doubled %d, in %.1f s: %.1f times wc -w; a process had at most %d MB\n",
		sum.Words, sum.Segments, sum.Lost, sum.Doubled, took.Seconds(), took.Seconds()/wc.Seconds(), b.memory>>10)
	sums := 0
	for _, m := range b.members {
		sums += strings.Count(m.Stderr.String(), "msg=counted")
	}
	fmt.Printf("end: %.2f s from the last of %d counts to the end of the job, of which the sum took %.2f s; it was made %d times\n",
		end.Sub(last).Seconds(), len(counts), summed.Sub(last).Seconds(), sums)
	if sum.Words != words || sum.Lost+sum.Doubled > 0 {
		return errors.New("the totals are not those of wc -w")
	}
	return nil
}

// changed is when a file was written.
func changed(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (b *bench) written() int {
	entries, _ := os.ReadDir(filepath.Join(b.dir, "results/wordflow/flow")) // not there at first
	return len(entries)
}

// weigh notes how much memory the processes have.
func (b *bench) weigh() {
	for _, m := range b.members {
		b.memory = max(b.memory, process.UsageOf(m.PID()).Peak)
	}
}
