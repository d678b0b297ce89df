"""Gradual deployments: a version is a copy of a function with its environment, and a new one is needed for each new value that reaches it."""

import hashlib
import json
import unittest

from templates import EVERYTHING, Standing, spelt, translated, written

FUNCTION, VERSION = "AWS::Lambda::Function", "AWS::Lambda::Version"
# A version doesn't have them, and Lambda publishes none for a change of these alone.
OF_THE_FUNCTION_ALONE = ("ReservedConcurrentExecutions", "RecursiveLoop", "Tags")
# SAM itself makes a new version for these. The code is another with each release.
SEEN_BY_SAM = ("Code", "Environment", "MemorySize")


def functions(standing):
    """All that a version copies."""
    versioned = {version["Properties"]["FunctionName"]["Ref"] for version in standing.of_type(VERSION).values()}
    copied = [dict(function["Properties"]) for id, function in standing.of_type(FUNCTION).items() if id in versioned]
    for properties in copied:
        for name in OF_THE_FUNCTION_ALONE:
            properties.pop(name, None)
    return standing.filled(copied)


def descriptions(standing):
    """What makes new versions: CloudFormation replaces a version whose description changes."""
    given = [version["Properties"].get("Description") for version in standing.of_type(VERSION).values()]
    return [spelt(description) if description else None for description in given]


def edited(name, value, function="StreamHandler"):
    """The template with another property of a function."""
    template = written()
    template["Resources"][function]["Properties"][name] = value
    return template


def versions(template):
    """The ids of the versions, by function. CloudFormation makes a new version for a new id."""
    made = translated({}, template)["Resources"]
    return {version["Properties"]["FunctionName"]["Ref"]: id for id, version in made.items() if version["Type"] == VERSION}


def held(template):
    """A hash of what a version holds and SAM doesn't look at."""
    made = translated({}, template)["Resources"]
    of = {id: made[id]["Properties"] for id in versions(template)}
    plain = {id: {name: it for name, it in one.items() if name not in OF_THE_FUNCTION_ALONE + SEEN_BY_SAM} for id, one in of.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:10]


def configuration(standing):
    """The content that is replaced, and gets a new number, when it changes."""
    return standing.computed(standing.resources["Configuration"]["Properties"]["Content"])


class Versions(unittest.TestCase):
    def standing(self, **parameters):
        return Standing(translated(parameters), parameters)

    def other(self, name, parameter):
        """Another value that the parameter may have."""
        value = EVERYTHING.get(name, parameter["Default"])
        if name == "ExistingTableStreamArn":
            return value.replace("orders", "others")
        return next((other for other in parameter.get("AllowedValues", ["other"]) if other != value))

    def test_each_version_names_the_configuration(self):
        self.assertEqual(descriptions(self.standing(**EVERYTHING)), ["configuration ${Configuration}"] * 3)

    def test_each_function_changes_with_the_configuration(self):
        """Lambda publishes no version of a function that hasn't changed, and CloudFormation then fails."""
        named = [properties["Environment"]["Variables"].get("CONFIGURATION") for properties in functions(self.standing(**EVERYTHING))]
        self.assertEqual(named, [{"Ref": "Configuration"}] * 3)

    def test_the_auditor_has_no_version_and_its_schedule_invokes_what_the_stack_has(self):
        """So a changed parameter takes effect at once, and none of its own makes a version of another function."""
        standing = self.standing(**EVERYTHING)
        versioned = {version["Properties"]["FunctionName"]["Ref"] for version in standing.of_type(VERSION).values()}
        self.assertEqual(set(standing.of_type(FUNCTION)) - versioned, {"Auditor"})
        (target,) = standing.resources["AuditSchedule"]["Properties"]["Targets"]
        self.assertEqual(spelt(target["Arn"]), "Auditor.Arn")
        audit = [self.standing(**EVERYTHING | {"Audit": mode}) for mode in ("repair", "report", "off")]
        self.assertEqual(len({configuration(one) for one in audit}), 1)
        self.assertEqual(len({str(functions(one)) for one in audit}), 1)

    def test_a_run_is_never_repeated(self):
        standing = self.standing()
        (target,) = standing.resources["AuditSchedule"]["Properties"]["Targets"]
        (invocation,) = standing.of_type("AWS::Lambda::EventInvokeConfig").values()
        wanted = {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 300}
        self.assertEqual(target["RetryPolicy"], wanted)
        self.assertEqual({name: invocation["Properties"][name] for name in wanted}, wanted)
        self.assertEqual((spelt(invocation["Properties"]["FunctionName"]), invocation["Properties"]["Qualifier"]), ("Auditor", "$LATEST"))

    def test_an_integration_waits_for_the_permission_of_what_it_invokes(self):
        """Else it could invoke what doesn't allow it yet, when gradual deployment is switched on or off: the permission is replaced then."""
        for parameters in ({}, EVERYTHING):
            standing = self.standing(**parameters)
            integrations = standing.of_type("AWS::ApiGatewayV2::Integration")
            self.assertEqual(len(integrations), 2)
            for id, integration in integrations.items():
                awaited = standing.resources[integration["DependsOn"]]
                self.assertEqual(awaited["Type"], "AWS::Lambda::Permission", id)
                self.assertEqual(spelt(awaited["Properties"]["FunctionName"]), spelt(integration["Properties"]["IntegrationUri"]), id)

    def test_an_edit_of_what_no_version_holds_makes_no_version(self):
        """Lambda publishes none of an unchanged function, and the update would fail: "A version for this Lambda function exists"."""
        before = versions(written())
        for name, value in (("Tags", {"team": "forest"}), ("ReservedConcurrentExecutions", 9), ("RecursiveLoop", "Terminate")):
            self.assertEqual(versions(edited(name, value)), before, name)
            self.assertEqual(held(edited(name, value)), held(written()), name)

    def test_an_edit_of_what_a_version_holds_makes_a_version(self):
        """SAM sees code, memory and variables. For all else a variable of the functions has the hash."""
        given = written()["Globals"]["Function"]["Environment"]["Variables"]["FUNCTION_PROPERTIES"]
        self.assertEqual(given, held(written()), "put this second value into template.yaml: FUNCTION_PROPERTIES")
        for name, value in (("Timeout", 50), ("Description", "other"), ("Tracing", "Active"), ("Layers", ["arn:aws:lambda:::layer:a:1"])):
            self.assertNotEqual(held(edited(name, value)), given, name)
        before = versions(written())
        other = written()
        other["Globals"]["Function"]["Environment"]["Variables"]["FUNCTION_PROPERTIES"] = "another"
        self.assertFalse(set(before.values()) & set(versions(other).values()))
        self.assertNotEqual(versions(edited("MemorySize", 1024))["StreamHandler"], before["StreamHandler"])

    def test_switching_gradual_deployment_on_makes_new_versions(self):
        """Else the versions of the first deployment would serve, with its parameters."""
        standing = self.standing()
        self.assertEqual(descriptions(standing), [None] * 3)
        self.assertNotIn("CONFIGURATION", str(functions(standing)))

    def test_a_parameter_that_reaches_a_function_makes_a_new_version(self):
        before, reaching = self.standing(**EVERYTHING), 0
        for name, parameter in written()["Parameters"].items():
            if name == "GradualDeployment":
                continue
            after = self.standing(**EVERYTHING | {name: self.other(name, parameter)})
            if functions(before) != functions(after):
                reaching += 1
                with self.subTest(name):
                    self.assertNotEqual(configuration(before), configuration(after))
        self.assertGreaterEqual(reaching, 18)
