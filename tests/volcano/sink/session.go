package sink

import (
	"fmt"

	volcano "volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/view"
)

// Profile is how a session is set up.
type Profile struct {
	Tiers     []conf.Tier
	Arguments []conf.Configuration
}

// ReadProfile reads a scheduler's configuration file, with Volcano's defaults applied.
func ReadProfile(configuration string) (Profile, error) {
	_, tiers, arguments, _, err := volcano.UnmarshalSchedulerConf(configuration)
	return Profile{tiers, arguments}, err
}

// Session is one cycle: it opens a session, runs the actions and closes it.
func (c *Cluster) Session(profile Profile, actions ...framework.Action) {
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	for _, action := range actions {
		if ours, prepares := action.(interface{ Prepare() }); prepares {
			ours.Prepare() // as the scheduler's loop does
		}
	}
	ssn := framework.OpenSession(c.Cache, profile.Tiers, profile.Arguments)
	for _, action := range actions {
		action.Initialize()
		action.Execute(ssn)
		action.UnInitialize()
	}
	framework.CloseSession(ssn)
}

// narrow is our action, which has tests that use this package.
type narrow interface {
	framework.Action
	Narrow(cluster *view.Cache, open func() *framework.Session) bool
	AwaitClosed()
}

// Cycle is one cycle as the scheduler runs it: its session shows what the plan is about or, where that does not do, the
// whole cluster. It says which.
func (c *Cluster) Cycle(of *view.Cache, profile Profile, tephra narrow) (whole bool) {
	conf.EnabledActionMap = map[string]bool{tephra.Name(): true}
	if tephra.Narrow(of, func() *framework.Session { return framework.OpenSession(of, profile.Tiers, profile.Arguments) }) {
		tephra.AwaitClosed()
		return false
	}
	c.Session(profile, tephra)
	return true
}

// Default is the profile of a scheduler without a configuration file. The actions are the caller's.
func Default() (Profile, error) {
	return ReadProfile("actions: allocate\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n  - name: predicates\n")
}

// StockActions are Volcano's own of these names.
func StockActions(names ...string) ([]framework.Action, error) {
	var actions []framework.Action
	for _, name := range names {
		action, found := framework.GetAction(name)
		if !found {
			return nil, fmt.Errorf("action %q: Volcano has none of this name", name)
		}
		actions = append(actions, action)
	}
	return actions, nil
}

// Do is an action that calls a function.
func Do(name string, execute func(*framework.Session)) framework.Action { return do{name, execute} }

// Idle is the action that does nothing: a session with it is the empty cycle.
var Idle = Do("idle", func(*framework.Session) {})

type do struct {
	name    string
	execute func(*framework.Session)
}

func (d do) Name() string                   { return d.name }
func (d do) Initialize()                    {}
func (d do) Execute(ssn *framework.Session) { d.execute(ssn) }
func (d do) UnInitialize()                  {}
