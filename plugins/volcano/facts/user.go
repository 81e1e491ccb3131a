package facts

import "tephra.sh/volcano/annotations"

// userAspect is what concerns the name of a group's user among its problems.
const userAspect = "user"

// readUser notes the user that the group names; none if the name cannot be read. REQUIRES: the
// group is known.
func (f *Feed) readUser(g *group) {
	var wrong *fault
	g.user = ""
	if text, given := g.obj.Annotations[annotations.UserKey]; given {
		user, err := annotations.ParseUser(text)
		if err != nil {
			wrong = annotationFault(err)
		}
		g.user = user
	}
	f.note(groupObject(g.obj), userAspect, "", wrong)
}
