const text = {
  type: "object",
  required: ["text"],
  properties: { text: { type: "string", minLength: 1 }, markdown: { type: "string" } },
  additionalProperties: false,
};
const level = { enum: ["none", "note", "warning", "error"] };
const location = {
  type: "object",
  additionalProperties: false,
  properties: {
    physicalLocation: {
      type: "object",
      required: ["artifactLocation"],
      additionalProperties: false,
      properties: {
        artifactLocation: {
          type: "object",
          required: ["uri"],
          properties: { uri: { type: "string", pattern: "^[^\\s\\\\]+$" } },
          additionalProperties: false,
        },
        region: {
          type: "object",
          properties: { startLine: { type: "integer", minimum: 1 } },
          additionalProperties: false,
        },
      },
    },
    logicalLocations: {
      type: "array",
      items: {
        type: "object",
        properties: {
          name: { type: "string" },
          fullyQualifiedName: { type: "string" },
          kind: { type: "string" },
        },
        additionalProperties: false,
      },
    },
  },
};
const position = { type: "integer", minimum: 1 };
const fixes = {
  type: "array",
  uniqueItems: true,
  items: {
    type: "object",
    required: ["artifactChanges"],
    additionalProperties: false,
    properties: {
      description: text,
      artifactChanges: {
        type: "array",
        minItems: 1,
        uniqueItems: true,
        items: {
          type: "object",
          required: ["artifactLocation", "replacements"],
          additionalProperties: false,
          properties: {
            artifactLocation: { type: "object", required: ["uri"], properties: { uri: { type: "string" } } },
            replacements: {
              type: "array",
              minItems: 1,
              items: {
                type: "object",
                required: ["deletedRegion"],
                additionalProperties: false,
                properties: {
                  deletedRegion: {
                    type: "object",
                    properties: {
                      startLine: position, startColumn: position, endLine: position, endColumn: position,
                    },
                    additionalProperties: false,
                  },
                  insertedContent: { type: "object", properties: { text: { type: "string" } } },
                },
              },
            },
          },
        },
      },
    },
  },
};
/**
 * The part of the published SARIF schema that covers the output of lint and audit. Checks names, required fields,
 * types and limits, and allows no unknown field. Source:
 * https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json
 */
export const SCHEMA = {
  type: "object",
  required: ["version", "runs"],
  additionalProperties: false,
  properties: {
    $schema: { type: "string", format: "uri" },
    version: { enum: ["2.1.0"] },
    runs: {
      type: "array",
      minItems: 0,
      items: {
        type: "object",
        required: ["tool"],
        additionalProperties: false,
        properties: {
          columnKind: { enum: ["utf16CodeUnits", "unicodeCodePoints"] },
          tool: {
            type: "object",
            required: ["driver"],
            additionalProperties: false,
            properties: {
              driver: {
                type: "object",
                required: ["name"],
                additionalProperties: false,
                properties: {
                  name: { type: "string" },
                  version: { type: "string" },
                  rules: {
                    type: "array",
                    uniqueItems: true,
                    items: {
                      type: "object",
                      required: ["id"],
                      additionalProperties: false,
                      properties: {
                        id: { type: "string" },
                        shortDescription: text,
                        help: text,
                        defaultConfiguration: {
                          type: "object",
                          properties: { enabled: { type: "boolean" }, level },
                          additionalProperties: false,
                        },
                      },
                    },
                  },
                },
              },
            },
          },
          invocations: {
            type: "array",
            items: {
              type: "object",
              required: ["executionSuccessful"],
              additionalProperties: false,
              properties: {
                executionSuccessful: { type: "boolean" },
                toolExecutionNotifications: {
                  type: "array",
                  items: {
                    type: "object",
                    required: ["message"],
                    properties: { level, message: text, locations: { type: "array", items: location } },
                    additionalProperties: false,
                  },
                },
              },
            },
          },
          results: {
            type: "array",
            items: {
              type: "object",
              required: ["message"],
              additionalProperties: false,
              properties: {
                ruleId: { type: "string" },
                ruleIndex: { type: "integer", minimum: -1 },
                level,
                message: text,
                suppressions: {
                  type: "array",
                  uniqueItems: true,
                  items: {
                    type: "object",
                    required: ["kind"],
                    properties: { kind: { enum: ["inSource", "external"] }, justification: { type: "string" } },
                    additionalProperties: false,
                  },
                },
                locations: { type: "array", items: location },
                fixes,
              },
            },
          },
        },
      },
    },
  },
};
