/** The tools that can build the image, the most common first. */
export const TOOLS = ["docker", "podman", "buildah"] as const;
export type Tool = (typeof TOOLS)[number];

/** The tools of clusters on one machine, with how each loads an archive of images into a cluster. */
const LOADERS = {
  kind: { load: ["kind", "load", "image-archive"], cluster: "--name" },
  k3d: { load: ["k3d", "image", "import"], cluster: "--cluster" },
  minikube: { load: ["minikube", "image", "load"], cluster: "--profile" },
} as const;
export type Loader = keyof typeof LOADERS;
export const LOADER_NAMES = Object.keys(LOADERS).filter(isLoader);

export function isLoader(name: string): name is Loader {
  return Object.hasOwn(LOADERS, name);
}

export type Command = readonly [program: string, ...args: string[]];

/** The commands that succeed if a tool can build an image here: docker needs its daemon and buildx. */
export const TOOL_PROBES: Readonly<Record<Tool, readonly Command[]>> = {
  docker: [["docker", "version"], ["docker", "buildx", "version"]],
  podman: [["podman", "version"]],
  buildah: [["buildah", "version"]],
};

interface Built {
  /** The name of the image, such as `registry.example.com/ack-role-resolver:0.1.0`. */
  readonly image: string;
  /** `NAME=VALUE` of the arguments of the Containerfile. */
  readonly buildArgs: readonly string[];
}

interface Pushed extends Built {
  readonly platforms: string;
  /** A file that the last command writes: the digest, or metadata that contain it. */
  readonly digestFile: string;
  /** Whether the registry serves HTTP only, such as one on the same machine. */
  readonly isPlain: boolean;
}

/** The list of the images of all platforms, which podman and buildah keep: of a push that failed, too. */
export function listOf({ image }: Pick<Built, "image">): string {
  return `${image}-all-platforms`;
}

/** Returns the commands that build the image for all platforms and push it, without a list of an earlier build. */
export function pushCommands(tool: Tool, pushed: Pushed): readonly Command[] {
  const { image, platforms, digestFile, isPlain } = pushed;
  const build = ["--platform", platforms, ...argumentsOf(pushed)];
  if (tool === "docker") {
    const output = `type=registry${isPlain ? ",registry.insecure=true" : ""}`;
    const written = ["--output", output, "--metadata-file", digestFile, "--tag", image];
    return [["docker", "buildx", "build", ...build, ...written, "."]];
  }
  const list = listOf(pushed);
  const tls = isPlain ? ["--tls-verify=false"] : [];
  return [
    [tool, "build", ...build, "--manifest", list, "."],
    [tool, "manifest", "push", "--all", "--digestfile", digestFile, ...tls, list, `docker://${image}`],
    [tool, "manifest", "rm", list],
  ];
}

interface Loaded extends Built {
  readonly archive: string;
  readonly loader: Loader;
  /** The name of the cluster; null for the default of the loader. */
  readonly cluster: string | null;
}

/** Returns the commands that build the image for this machine and load it into a cluster on it. */
export function loadCommands(tool: Tool, loaded: Loaded): readonly Command[] {
  const { image, archive, loader, cluster } = loaded;
  const { load, cluster: flag } = LOADERS[loader];
  const save: Command = tool === "buildah"
    ? ["buildah", "push", image, `docker-archive:${archive}:${image}`]
    : [tool, "save", "--output", archive, image];
  return [
    [tool, "build", ...argumentsOf(loaded), "--tag", image, "."], save,
    [...load, archive, ...(cluster === null ? [] : [flag, cluster])],
  ];
}

function argumentsOf({ buildArgs }: Built): string[] {
  return ["--file", "Containerfile", ...buildArgs.flatMap((one) => ["--build-arg", one])];
}

/** Returns the command that installs the chart with the image, which denies nothing. */
export function installCommand(image: { readonly repository: string; readonly digest: string } | null): string {
  const values = image === null ? [] : [`image.repository=${image.repository}`, `image.digest=${image.digest}`];
  return ["helm install ack-role-resolver manifests/chart --namespace ack-role-resolver --create-namespace --wait",
    ...["profile=observe", ...values].map((value) => `--set ${value}`)].join(" \\\n  ");
}
