package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Object names a Kubernetes object.
type Object struct {
	Kind      string // "PodGroup", "Pod", "Node", "Queue", "HyperNode", "PodDisruptionBudget", "Resource"
	Namespace string // empty where the kind has none
	Name      string
	UID       string // empty where it is not known
}

func (o Object) String() string {
	if o.Namespace == "" {
		return fmt.Sprintf("%s %q", o.Kind, o.Name)
	}
	return fmt.Sprintf("%s \"%s/%s\"", o.Kind, o.Namespace, o.Name)
}

// Problem is why the engine does not learn of an object, or of part of what it says.
type Problem struct {
	Object Object
	// The pod group that cannot be scheduled because of it, by uid. Empty: the problem keeps no
	// group waiting; the engine learns of the object without the part in question.
	Job      string
	Field    string
	Value    string
	Expected string
	// The type of a condition that the object has while the problem stands; empty: none of its own.
	Condition string
	// The engine's own words where it was the engine that refused; then Field, Value and Expected
	// are empty.
	Message string
}

func (p Problem) Error() string {
	if p.Message != "" {
		return p.Object.String() + ": " + p.Message
	}
	return fmt.Sprintf("%s: %s: %s, expected %s", p.Object, p.Field, p.Value, p.Expected)
}

// fault is a Problem whose object is not named yet.
type fault struct {
	field, value, expected string
}

func (f *fault) of(object Object, job string) Problem {
	return Problem{Object: object, Job: job, Field: short(f.field), Value: short(f.value), Expected: f.expected}
}

// short is the text, or its beginning where it is long: events and conditions hold little.
func short(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}

// in puts the field below another one.
func (f *fault) in(parent string) *fault {
	if f == nil {
		return nil
	}
	return &fault{parent + "." + f.field, f.value, f.expected}
}

// ProblemChange is a problem that has come, or whose words have changed, or that has Gone.
type ProblemChange struct {
	Problem
	Gone bool
}

// problems are the standing problems, by what they are about.
type problems struct {
	standing map[problemKey]Problem
	changed  map[problemKey]*Problem // as it was last reported; nil: it was not standing
}

type problemKey struct {
	Object
	field string // the engine's refusals, the slices of a pod and its requests do not hide each other
}

func (p *problems) touch(key problemKey) {
	if _, noted := p.changed[key]; noted {
		return
	}
	if p.changed == nil {
		p.changed = map[problemKey]*Problem{}
	}
	p.changed[key] = nil
	if before, stood := p.standing[key]; stood {
		p.changed[key] = &before
	}
}

// set notes the problem with that aspect of the object, or with nil that there is none.
func (p *problems) set(object Object, aspect string, problem *Problem) {
	key := problemKey{object, aspect}
	before, stood := p.standing[key]
	if problem == nil {
		if stood {
			p.touch(key)
			delete(p.standing, key)
		}
		return
	}
	if stood && before == *problem {
		return
	}
	p.touch(key)
	if p.standing == nil {
		p.standing = map[problemKey]Problem{}
	}
	p.standing[key] = *problem
}

func (p *problems) stands(object Object, aspect string) bool {
	_, stood := p.standing[problemKey{object, aspect}]
	return stood
}

func (p *problems) drain() []ProblemChange {
	var out []ProblemChange
	for key, before := range p.changed {
		now, stands := p.standing[key]
		switch {
		case stands && (before == nil || *before != now):
			out = append(out, ProblemChange{now, false})
		case !stands && before != nil:
			out = append(out, ProblemChange{*before, true})
		}
	}
	p.changed = nil
	slices.SortFunc(out, func(a, b ProblemChange) int { return compareProblems(a.Problem, b.Problem) })
	return out
}

// forget drops problems that came and went since the last drain.
func (p *problems) forget() {
	maps.DeleteFunc(p.changed, func(key problemKey, before *Problem) bool {
		_, stands := p.standing[key]
		return !stands && before == nil
	})
}

func (p *problems) all() []Problem {
	out := make([]Problem, 0, len(p.standing))
	for _, problem := range p.standing {
		out = append(out, problem)
	}
	slices.SortFunc(out, compareProblems)
	return out
}

func compareProblems(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Object.Kind, b.Object.Kind),
		cmp.Compare(a.Object.Namespace, b.Object.Namespace),
		cmp.Compare(a.Object.Name, b.Object.Name), cmp.Compare(a.Object.UID, b.Object.UID),
		cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
}

// Problems are all that stand, by object.
func (f *Feed) Problems() []Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problems.all()
}

// DrainProblems are the problems that have come, changed or gone since the last call, by object. They
// are brought up to date by Sync and Drain.
func (f *Feed) DrainProblems() []ProblemChange {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problems.drain()
}
