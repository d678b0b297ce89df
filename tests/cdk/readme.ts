// A stack around the code of infra/cdk/README.md, which `.ci/cdk` puts in its place.
import * as cdk from "aws-cdk-lib";
import * as iam from "aws-cdk-lib/aws-iam";
import { Sapwood } from "@sapwood/cdk";

class App extends cdk.Stack {
  constructor(scope: cdk.App) {
    super(scope, "App");
    const role = new iam.Role(this, "Role", { assumedBy: new iam.AccountPrincipal("111122223333") });
    const reports = new iam.Role(this, "Reports", { assumedBy: new iam.AccountPrincipal("111122223333") });
    // The code of the README.
  }
}

const app = new cdk.App();
new App(app);
app.synth();
