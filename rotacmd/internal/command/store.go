package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/rotacmd/internal/command/storecheck"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/rotacmd/stores"
)

// storeForms is what a store may be, for help.
const storeForms = "file:DIR, elastic://…, etcd://…, kafka://…, nats://…, zookeeper://… or postgres://HOST:PORT,…/PATH"

func newStore(e env) *cobra.Command {
	return group("store", "check a store, repair it, copy it", newStoreCheck(e), newStoreRepair(e), newStoreCopy(e))
}

const storeCheckHelp = `Verify that a store can be used, and measure how long its answers take: append, read, snapshot, conditional write, list, watch, session.
It works at a place of its own beside that of the cluster, PATH-store-check, which it leaves nearly empty; a running cluster is not touched.
Exit 0 only if all that members need works.`

// checkSuffix names the place of a check.
const checkSuffix = "-store-check"

func newStoreCheck(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [STORE]", Short: "verify that a store can be used", Long: storeCheckHelp,
		Example: "  rota store check file:./rota-data\n  rota store check etcd://127.0.0.1:2379/rota",
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return misused("rota store check file:./rota-data", "%s takes one store", cmd.CommandPath())
		}
		return nil
	}
	return framed(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		if len(args) == 1 {
			o.url = args[0]
		}
		r, err := checkStore(ctx, e, o.url)
		if err != nil {
			return err
		}
		return e.showCheck(storeurl.Hide(o.url), r, o.json)
	})
}

func checkStore(ctx context.Context, e env, text string) (storecheck.Report, error) {
	if strings.HasPrefix(text, "memory:") {
		return storecheck.Report{}, misused("rota store check file:./rota-data", "store memory: is inside one process: there is nothing to check")
	}
	if strings.HasPrefix(text, "file:") {
		dir, err := storeDirectory(text)
		if err != nil {
			return storecheck.Report{}, err
		}
		return checkDirectory(ctx, e, dir)
	}
	return checkPlace(ctx, e, text, checkSuffix)
}

// storeDirectory is the directory of a store file:DIR.
func storeDirectory(text string) (string, error) {
	dir, err := stores.Directory(text)
	if err != nil {
		return "", storeFault(text, "", member, err)
	}
	return dir, nil
}

// checkDirectory checks the disk below which a directory lies, in a directory that it removes.
func checkDirectory(ctx context.Context, e env, dir string) (storecheck.Report, error) {
	if err := notAFile(dir); err != nil {
		return storecheck.Report{}, err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+checkSuffix+"-")
	if err != nil {
		return storecheck.Report{}, failed("mkdir -p "+filepath.Dir(dir), "make a directory for the check: %w", err)
	}
	r, err := checkPlace(ctx, e, "file:"+tmp, "")
	return r, errors.Join(err, os.RemoveAll(tmp))
}

// notAFile refuses a path that is there and is no directory.
func notAFile(path string) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return failed("a directory, or a path where there is nothing yet", "store file:%s: it is a file, and a store is a directory", path)
	}
	return nil
}

func checkPlace(ctx context.Context, e env, text, suffix string) (storecheck.Report, error) {
	st, err := openBeside(ctx, e, text, suffix, member)
	if err != nil {
		return storecheck.Report{}, err
	}
	r := storecheck.Run(ctx, st)
	return r, st.Close()
}

func (e env) showCheck(name string, r storecheck.Report, asJSON bool) error {
	if asJSON {
		if err := e.printJSON(r); err != nil {
			return err
		}
	} else if err := table(e.stdout, checkRows(r)); err != nil {
		return err
	}
	if !r.OK {
		return failed("the table says which step", "store %s can't be used", name)
	}
	return nil
}

func checkRows(r storecheck.Report) [][]string {
	rows := [][]string{{"", "STEP", "TYPICAL", "WORST", ""}}
	for _, s := range r.Steps {
		mark := "ok"
		switch {
		case s.Optional:
			mark = "-"
		case !s.OK:
			mark = "FAILED"
		}
		row := []string{mark, s.Name, "", "", s.Note + s.Error}
		if s.Times > 0 {
			row[2], row[3] = fmt.Sprintf("%.2f ms", s.TypicalMS), fmt.Sprintf("%.2f ms", s.WorstMS)
		}
		rows = append(rows, row)
	}
	return rows
}
