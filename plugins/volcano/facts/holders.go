package facts

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/tephrav1"
)

// standInUID begins the uid of a pod group that stands in for one that is gone.
const standInUID = "gone/"

func standsIn(obj *schedulingv1beta1.PodGroup) bool {
	return strings.HasPrefix(string(obj.UID), standInUID)
}

// standIn gives a group that was deleted, or was never created, a pod group of the same name as long as pods hold
// room that was placed for them: so an owner gains nothing by deleting the group.
func (f *Feed) standIn(g *group) {
	before := g.obj
	g.obj = nil
	pods := g.present()
	if i := slices.IndexFunc(pods, func(p *pod) bool { return p.placedIn() != "" }); i >= 0 {
		first := pods[i].obj
		g.obj = &schedulingv1beta1.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: strings.TrimPrefix(g.key, first.Namespace+"/"),
				UID: types.UID(standInUID + g.key), CreationTimestamp: first.CreationTimestamp},
			Spec:   schedulingv1beta1.PodGroupSpec{Queue: pods[i].placedIn()},
			Status: schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupRunning},
		}
		if f.gangOfHolders(g) == nil {
			g.obj = nil
		}
	}
	switch {
	case g.obj != nil:
		f.groupsOf[string(g.obj.UID)] = g
		f.readUser(g)
		f.readEvictability(g)
		// The expected runtime of a deleted group stays: what it holds is to end when the group said.
	case before != nil:
		f.groupsOf[string(before.UID)] = g
		f.dropGroup(before)
	}
}

// gangOfHolders is what is left of a gang that cannot be described: its pods that hold room. They stay charged to their
// queue and can be evicted, so an owner gains nothing by making the gang invalid. Nothing more of the gang starts.
// nil: none of its pods holds room.
func (f *Feed) gangOfHolders(g *group) *tephrav1.Gang {
	g.roles, g.templates = map[slot]*pod{}, nil
	var templates []string // of different pods, in the order of the first pod of each
	byTemplate := map[string][]*pod{}
	for _, p := range g.present() {
		if !bound(p.obj) && !p.inFlight() {
			continue
		}
		if p.shape == nil {
			p.shape = f.translator.shapeAsForeign(p, f.nodeOf(p))
		}
		template := string(mustMarshal(p.shape.pod))
		if byTemplate[template] == nil {
			templates = append(templates, template)
		}
		byTemplate[template] = append(byTemplate[template], p)
	}
	gang := &tephrav1.Gang{}
	for i, template := range templates {
		alike := byTemplate[template]
		role := &tephrav1.Role{Name: memberRole, Pod: alike[0].shape.pod}
		if i > 0 {
			role.Name = fmt.Sprintf("%s#%d", memberRole, i+1)
		}
		role.Replicas = g.place(role.Name, alike, 0, func(*pod) (int32, bool) { return 0, false })
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
