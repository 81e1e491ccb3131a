package facts

// Moved are the groups, by namespace/name, that came, changed or went since the last call, or a pod of theirs did.
func (f *Feed) Moved() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := sortedKeys(f.moved)
	clear(f.moved)
	return out
}

// Changes counts what the informers have reported.
func (f *Feed) Changes() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// Versions are the resource versions of a group and its pods.
type Versions struct {
	UID   string            // of the group; empty: there is none
	Group string            // empty: there is no group
	Pods  map[string]string // by uid
}

// Versions of the group of that namespace/name.
func (f *Feed) Versions(key string) Versions {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.groups[key]
	if g == nil {
		return Versions{}
	}
	out := Versions{Pods: make(map[string]string, len(g.pods))}
	if g.obj != nil {
		out.UID, out.Group = string(g.obj.UID), g.obj.ResourceVersion
	}
	for uid, p := range g.pods {
		out.Pods[uid] = p.obj.ResourceVersion
	}
	return out
}

// NeedsWholeCluster: of some pod of the job, Volcano's predicates look at more nodes than the one that the pod is to
// be bound to: at pods elsewhere, or at what other nodes offer.
func (f *Feed) NeedsWholeCluster(jobUID string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.translator.apart.left {
		return true
	}
	g := f.groupsOf[jobUID]
	if g == nil || !f.masked[g] {
		return false
	}
	for _, p := range g.pods {
		if p.shape != nil && p.shape.mask != "" {
			return true
		}
	}
	return false
}
