// Command tephra-lab runs a Kubernetes control plane with Volcano and fake GPU nodes on one machine.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"tephra.sh/lab/components"
)

func main() {
	components.RunIfAsked()
	root := &cobra.Command{
		Use:   "tephra-lab",
		Short: "A Kubernetes control plane with Volcano and fake GPU nodes, on loopback, gone when it ends",

		SilenceUsage: true,
	}
	root.AddCommand(upCommand(), componentsCommand(), stopCommand(), startCommand(), restartCommand())
	if root.Execute() != nil {
		os.Exit(1)
	}
}
