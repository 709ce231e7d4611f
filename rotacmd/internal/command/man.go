package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/internal/safetext"
)

const manHelp = `Prints the manual page of a command, from the same table as --help: rota man run | man -l -
With --dir it writes the pages of all commands into a directory, such as /usr/local/share/man/man1.`

func newMan(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "man [COMMAND...]", Short: "print the manual page of a command", Long: manHelp,
		Args:    cobra.ArbitraryArgs,
		Example: "  rota man task list\n  rota man --dir /usr/local/share/man/man1"}
	dir := cmd.Flags().String("dir", "", "write the pages of all commands into this directory")
	asked(cmd.Flags(), "dir")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		if *dir != "" {
			return writeManual(root, *dir)
		}
		found, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return misused("rota man run", "there is no command %q", strings.Join(args, " "))
		}
		return manual(e.stdout, found)
	}
	return cmd
}

func writeManual(root *cobra.Command, dir string) error {
	for _, c := range everyCommand(root) {
		if c.Hidden {
			continue
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return failed("mkdir -p "+safetext.Word(dir), "write the manual: %w", err)
		}
		if err := errors.Join(manual(f, c), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// manual writes the page of a command in roff.
func manual(w io.Writer, c *cobra.Command) error {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q %q\n", strings.ToUpper(name), "Rota "+version, "Rota")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(usageLine(c)))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(c.Long))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	if subs := c.Commands(); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, s := range subs {
			if !s.Hidden {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimPrefix(usageLine(s), c.Root().Name()+" ")),
					roff(s.Short))
			}
		}
	}
	if c.Flags().HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.Flags().VisitAll(func(f *pflag.Flag) { manualFlag(&b, f) })
	}
	b.WriteString(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 130 interrupted. An error is one line, and a line that begins with \"try:\".\n")
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func manualFlag(b *strings.Builder, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	kind := f.Value.Type()
	if kind == "bool" {
		kind = ""
	}
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	fmt.Fprintf(b, ".TP\n.BR %s \" %s\"\n%s", roff(name), roff(kind), roff(f.Usage))
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
		fmt.Fprintf(b, " (default %s)", roff(f.DefValue))
	}
	b.WriteString("\n")
}

// roff keeps a text from being read as roff.
func roff(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\e`), "-", `\-`)
	var plain strings.Builder
	for _, r := range s {
		if r < 0x80 {
			plain.WriteRune(r)
		} else {
			fmt.Fprintf(&plain, `\[u%04X]`, r)
		}
	}
	lines := strings.Split(plain.String(), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
