/** What the sandbox always has, and the demo client is connected with. */
export const DEMO_ASSETS = {
  name: "Sandbox Coffee",
  wabaId: "1500000000000201",
  templateNamespace: "ba30dd89_2ebd_41e4_b805_f2c05ae04cc9",
  phoneNumberId: "1400000000000301",
  displayPhoneNumber: "+55 11 90000-0301",
  chatToken: "EAASandboxDemoChat",
  pageId: "1300000000000401",
  photoappUserId: "1200000000000501",
  pageToken: "EAASandboxDemoPage",
} as const;
