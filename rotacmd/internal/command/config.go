package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

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
	case f.Name == "store":
		return storeurl.Hide(v)
	case f.Name == "publish":
		var shown []string
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, text := range sinkTexts(list.GetSlice()) {
				shown = append(shown, storeurl.Hide(text))
			}
		}
		return strings.Join(shown, " ")
	}
	return v
}
