package lab_test

import (
	"context"
	"os"
	"testing"
	"time"

	"tephra.sh/lab"
	"tephra.sh/lab/components"
)

// holdLab, in the environment, makes the test binary start a lab, write its folder's name to standard
// output and hold it: what the test of a killed lab kills.
const holdLab = "TEPHRA_LAB_TEST_HOLD"

func TestMain(m *testing.M) {
	components.RunIfAsked()
	if os.Getenv(holdLab) != "" {
		hold()
	}
	os.Exit(m.Run())
}

func hold() {
	os.Unsetenv(holdLab)
	options := small()
	options.Dir = os.Getenv("TEPHRA_LAB_TEST_DIR")
	if _, err := lab.Start(context.Background(), options); err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Stdout.WriteString("ready\n")
	time.Sleep(time.Hour)
}

func small() lab.Options {
	options := lab.Defaults()
	options.Nodes.Count = 4
	return options
}

func start(t *testing.T, options lab.Options) *lab.Lab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	running, err := lab.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)
	return running
}

// eventually asks until the answer is nil, for a minute at most.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	within(t, time.Minute, ask)
}

// afterOutage is for how long to wait for what needs the watches of the API server's clients, once it is
// back: as long as StartComponent says that they may stay away, and then as long as for anything else.
const afterOutage = lab.WatchesReturn + time.Minute

// within asks until the answer is nil, for as long as the limit says.
func within(t *testing.T, limit time.Duration, ask func() error) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
