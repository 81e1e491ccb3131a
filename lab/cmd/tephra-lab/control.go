package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
	"tephra.sh/lab"
)

// These commands talk to a lab that another process runs.

func componentsCommand() *cobra.Command {
	return telling("components", "List what a running lab consists of, with process ids (0: stopped)", cobra.NoArgs,
		func(command *cobra.Command, dir string, _ []string) error {
			text, err := lab.Tell(command.Context(), dir, http.MethodGet, "/components")
			fmt.Fprint(command.OutOrStdout(), text)
			return err
		})
}

func stopCommand() *cobra.Command {
	return telling("stop COMPONENT", "Kill one component of a running lab and leave it so", cobra.ExactArgs(1),
		func(command *cobra.Command, dir string, args []string) error {
			return post(command, dir, args[0], "stop")
		})
}

func startCommand() *cobra.Command {
	return telling("start COMPONENT", "Start a stopped component again: same port, same data", cobra.ExactArgs(1),
		func(command *cobra.Command, dir string, args []string) error {
			return post(command, dir, args[0], "start")
		})
}

func restartCommand() *cobra.Command {
	return telling("restart COMPONENT", "Stop, then start", cobra.ExactArgs(1),
		func(command *cobra.Command, dir string, args []string) error {
			if err := post(command, dir, args[0], "stop"); err != nil {
				return err
			}
			return post(command, dir, args[0], "start")
		})
}

func post(command *cobra.Command, dir, component, action string) error {
	_, err := lab.Tell(command.Context(), dir, http.MethodPost, "/components/"+component+"/"+action)
	return err
}

func telling(use, short string, args cobra.PositionalArgs, run func(*cobra.Command, string, []string) error) *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(command *cobra.Command, args []string) error { return run(command, dir, args) },
	}
	command.Flags().StringVar(&dir, "dir", "", "the running lab's folder")
	if err := command.MarkFlagRequired("dir"); err != nil {
		panic(err) // the flag was defined one line above
	}
	return command
}
