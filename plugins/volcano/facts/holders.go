package facts

import (
	"fmt"

	"tephra.sh/volcano/tephrav1"
)

// gangOfHolders is what is left of a gang that cannot be described: its pods that hold room. They stay charged to their
// queue and can be evicted, so an owner gains nothing by making the gang invalid. Nothing more of the gang starts.
// nil: none of its pods holds room.
func (f *Feed) gangOfHolders(g *group) *tephrav1.Gang {
	g.roles, g.templates = map[slot]*pod{}, nil
	var shapes []*shape
	byShape := map[*shape][]*pod{}
	for _, p := range g.present() {
		if !bound(p.obj) && !p.inFlight() {
			continue
		}
		if p.shape == nil {
			p.shape = f.translator.shapeAsForeign(p, f.nodeOf(p))
		}
		if byShape[p.shape] == nil {
			shapes = append(shapes, p.shape)
		}
		byShape[p.shape] = append(byShape[p.shape], p)
	}
	gang := &tephrav1.Gang{}
	for i, shape := range shapes {
		role := &tephrav1.Role{Name: memberRole, Pod: shape.pod}
		if i > 0 {
			role.Name = fmt.Sprintf("%s#%d", memberRole, i+1)
		}
		role.Replicas = g.place(role.Name, byShape[shape], 0, func(*pod) (int32, bool) { return 0, false })
		gang.Roles = append(gang.Roles, role)
	}
	if len(gang.Roles) == 0 || gangBounds(g.obj, gang) != nil {
		return nil
	}
	return gang
}

// shapeAsForeign is the shape of a pod that runs although its requests cannot be read.
func (t *translator) shapeAsForeign(p *pod, on *tephrav1.Node) *shape {
	template, _ := t.load(p.obj, on, false)
	key := string(mustMarshal(template))
	if known, ok := t.shapes[key]; ok {
		return known
	}
	fresh := &shape{pod: template}
	t.shapes[key] = fresh
	return fresh
}
