/** A platform of the executables and of the image. */
export interface Platform {
  /** The name of the architecture in the npm packages of Node.js and in the names of the files. */
  readonly name: "x64" | "arm64";
  /** The name of the architecture in images. */
  readonly image: "amd64" | "arm64";
  /** The hash of the npm package `node-linux-NAME` of NODE_VERSION, as `npm view PACKAGE dist.integrity` prints it. */
  readonly integrity: string;
  /** The folder of this machine that contains the loader and LIBRARIES, and the Debian packages that fill it. */
  readonly libraries: string;
  readonly packages: readonly string[];
  /** The path of the loader, which every program of the platform names. */
  readonly loader: string;
}

/** The version of the npm package `node` in package-lock.json. The executables and the image contain it. */
export const NODE_VERSION = "26.10.0";

export const PLATFORMS: readonly Platform[] = [{
  name: "x64", image: "amd64",
  integrity: "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
  libraries: "/lib/x86_64-linux-gnu", packages: ["libc6", "libstdc++6", "libgcc-s1", "libatomic1"],
  loader: "/lib64/ld-linux-x86-64.so.2",
}, {
  name: "arm64", image: "arm64",
  integrity: "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
  libraries: "/usr/aarch64-linux-gnu/lib",
  packages: ["libc6-arm64-cross", "libstdc++6-arm64-cross", "libgcc-s1-arm64-cross", "libatomic1-arm64-cross"],
  loader: "/lib/ld-linux-aarch64.so.1",
}];

/** The shared libraries that Node.js loads. */
export const LIBRARIES = [
  "libatomic.so.1", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libstdc++.so.6",
] as const;
