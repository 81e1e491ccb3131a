// Command tephra-churn plays many users on a lab with the engine and the scheduler, and reports as JSON
// on standard output what they did right and wrong.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{
		Use:          "tephra-churn",
		Short:        "Many gangs at once on a lab: do all end, is no GPU given twice, how long does it take",
		SilenceUsage: true,
	}
	root.AddCommand(runCommand(), bindCommand(), failoverCommand(), singleCommand())
	if root.Execute() != nil {
		os.Exit(1)
	}
}

func say(format string, values ...any) { fmt.Fprintf(os.Stderr, "churn: "+format+"\n", values...) }
