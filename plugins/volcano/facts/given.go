package facts

import "tephra.sh/volcano/annotations"

// signatureAspect is the aspect of a pod's problems under which annotations stand that the scheduler did not sign.
const signatureAspect = "signature"

// readGiven reads what the scheduler said of a bound pod. With keys, what is not signed does not count; then what was
// signed before stays, because the pod has it.
func (f *Feed) readGiven(p *pod) {
	before := p.given
	p.given = annotations.Given{}
	var wrong *fault
	if bound(p.obj) {
		now := annotations.Given{PodUID: p.uid, Node: p.obj.Spec.NodeName,
			Queue: p.obj.Annotations[annotations.QueueKey], Slices: p.obj.Annotations[annotations.SlicesKey]}
		signed, fault := f.signed(p, now)
		wrong = fault
		switch {
		case signed:
			p.given = now
		case before.Node == now.Node:
			p.given = before
		}
	}
	f.note(p.object(), signatureAspect, "", wrong)
}

// signed: what the pod's annotations say counts. No fault: they say nothing.
func (f *Feed) signed(p *pod, given annotations.Given) (bool, *fault) {
	if f.options.Keys == nil {
		return true, nil
	}
	signature := p.obj.Annotations[annotations.SignatureKey]
	if given.Queue == "" && given.Slices == "" && signature == "" {
		return false, nil
	}
	if err := f.options.Keys.Check(given, signature, p.obj.CreationTimestamp.Time); err != nil {
		return false, annotationFault(err)
	}
	return true, nil
}

// Signature signs what the scheduler is about to say of a pod; empty: there are no keys.
func (f *Feed) Signature(given annotations.Given) (string, error) {
	if f.options.Keys == nil {
		return "", nil
	}
	return f.options.Keys.Sign(given)
}
