package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// defaultFile is read where it exists and no other was named.
const defaultFile = "rota.yaml"

// notSettings are flags that say what to print, not how to run.
var notSettings = []string{"help", "output", "config"}

// asked marks flags that say what is to be done this time: a file of settings or the environment must not say that.
func asked(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, askedMark, nil); err != nil {
			panic(err) // the command has no flag of this name
		}
	}
}

const askedMark = "rota.asked"

// isSetting tells whether a flag may be given elsewhere than on the command line.
func isSetting(f *pflag.Flag) bool {
	_, asked := f.Annotations[askedMark]
	return !asked && !slices.Contains(notSettings, f.Name)
}

// origins tells of each setting where its value came from.
type origins map[string]string

// settle fills in what no flag said: from the environment, else from the file, else the default stays.
// Lists are separated by commas in the environment.
func settle(e env, cmd *cobra.Command) (origins, error) {
	file, path, err := readFile(e, cmd)
	if err != nil {
		return nil, err
	}
	from := origins{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err == nil && isSetting(f) {
			err = settleOne(e, f, file, path, from)
		}
	})
	if err != nil {
		return nil, err
	}
	return from, unknownKeys(cmd, file, path)
}

func settleOne(e env, f *pflag.Flag, file map[string]any, path string, from origins) error {
	name := envName(f.Name)
	inFile, has := file[f.Name]
	switch {
	case f.Changed:
		from[f.Name] = "flag"
	case e.getenv(name) != "":
		from[f.Name] = "environment " + name
		if err := f.Value.Set(e.getenv(name)); err != nil {
			return misused("rota config", "%s: %s", name, flagText(err))
		}
	case has:
		from[f.Name] = "file " + path
		if err := setFromFile(f, inFile); err != nil {
			return misused("mend "+path, "%s: %s: %s", path, f.Name, flagText(err))
		}
	default:
		from[f.Name] = "default"
	}
	return nil
}

func envName(flag string) string {
	return "ROTA_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fileOnly are settings that the command line gives as arguments.
var fileOnly = []string{"tasks"}

// unknownKeys refuses what no command knows: a typing error would else do nothing in silence.
func unknownKeys(cmd *cobra.Command, file map[string]any, path string) error {
	known := slices.Clone(fileOnly)
	for _, c := range everyCommand(cmd.Root()) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if isSetting(f) || slices.Contains(notSettings, f.Name) {
				known = append(known, f.Name)
			}
		})
	}
	for _, k := range slices.Sorted(maps.Keys(file)) {
		if !slices.Contains(known, k) {
			return misused(nearestOr(k, known, "rota run --help lists them"), "%s: unknown setting %q", path, k)
		}
	}
	return nil
}

// dirsFrom are the directories of tasks: the arguments, else those of the file.
func dirsFrom(e env, cmd *cobra.Command, args []string) ([]string, string, error) {
	if len(args) > 0 {
		return args, "arguments", nil
	}
	if v := e.getenv("ROTA_TASKS"); v != "" {
		return strings.Split(v, ","), "environment ROTA_TASKS", nil
	}
	file, path, err := readFile(e, cmd)
	if err != nil {
		return nil, "", err
	}
	switch v := file["tasks"].(type) {
	case nil:
		return nil, "default", nil
	case string:
		return []string{v}, "file " + path, nil
	case []any:
		dirs := make([]string, len(v))
		for i, d := range v {
			dirs[i] = fmt.Sprint(d)
		}
		return dirs, "file " + path, nil
	}
	return nil, "", misused("tasks: [./tasks]", "%s: tasks is a directory or a list of them", path)
}

// setting is one line of rota config.
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

func newConfig(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config [DIR...]", Short: "print the settings that rota run would use, and where each came from",
		Example: "  rota config --ttl 4s ./tasks",
	}
	runFlags(cmd.Flags())
	asJSON := formatFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := settle(e, cmd)
		if err != nil {
			return err
		}
		dirs, dirsFrom, err := dirsFrom(e, cmd, args)
		if err != nil {
			return err
		}
		var all []setting
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if from[f.Name] != "" && !f.Hidden {
				all = append(all, setting{f.Name, shownValue(f), from[f.Name]})
			}
		})
		all = append(all, setting{"tasks", strings.Join(dirs, ","), dirsFrom})
		slices.SortFunc(all, func(a, b setting) int { return strings.Compare(a.Name, b.Name) })
		if *asJSON {
			return e.printJSON(all)
		}
		rows := make([][]string, len(all))
		for i, s := range all {
			rows[i] = []string{s.Name, dash(s.Value), s.Origin}
		}
		return table(e.stdout, rows)
	}
	return cmd
}

// shownValue is a setting as it may be shown.
func shownValue(f *pflag.Flag) string {
	v := strings.Trim(f.Value.String(), "[]")
	switch {
	case f.Name == "api-token" && v != "":
		return "***"
	case f.Name == "store" || f.Name == "queue":
		return storeurl.Hide(v)
	}
	list, many := f.Value.(pflag.SliceValue)
	if !many || f.Name != "publish" && !strings.Contains(v, "://") { // what a program adds may have credentials, as a URL has
		return v
	}
	texts, between := list.GetSlice(), ","
	if f.Name == "publish" {
		texts, between = sinkTexts(texts), " "
	}
	shown := make([]string, len(texts))
	for i, text := range texts {
		shown[i] = storeurl.Hide(text)
	}
	return strings.Join(shown, between)
}
